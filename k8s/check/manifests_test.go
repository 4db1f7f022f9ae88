// Package check holds what is demanded of the manifests beside it: that they build,
// fit the types of Kubernetes, keep its rules of security, and fit each other. It is
// a module of its own, so that the program does not carry the types of Kubernetes.
package check

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func overlays() []string {
	return []string{"dev", "production"}
}

// must returns what ends a test for an error, and otherwise returns the value that came with it.
func must[Value any](value Value, err error) func(*testing.T) Value {
	return func(t *testing.T) Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// build is kustomize's output for an overlay.
func build(t *testing.T, overlay string) resmap.ResMap {
	t.Helper()
	return must(krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../overlays/"+overlay))(t)
}

// edited is kustomize's output for production with an edited kustomization.yaml.
func edited(t *testing.T, pairs ...string) resmap.ResMap {
	t.Helper()
	return must(production(k8s, pairs...))(t)
}

func decode(t *testing.T, overlay string) []runtime.Object {
	t.Helper()
	return typed(t, build(t, overlay))
}

// typed returns objects in their types. A field that is unknown, or there twice, is an error.
func typed(t *testing.T, built resmap.ResMap) []runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, monitoring.AddToScheme, gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	var objects []runtime.Object
	for _, resource := range built.Resources() {
		text := must(resource.AsYAML())(t)
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", resource.CurId(), err)
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

func all[T runtime.Object](objects []runtime.Object) []T {
	var found []T
	for _, object := range objects {
		if typed, is := object.(T); is {
			found = append(found, typed)
		}
	}
	return found
}

// workload is what makes pods.
type workload struct {
	name string
	kind string
	pod  corev1.PodTemplateSpec
}

func workloads(objects []runtime.Object) []workload {
	var found []workload
	for _, d := range all[*appsv1.Deployment](objects) {
		found = append(found, workload{d.Name, "Deployment", d.Spec.Template})
	}
	for _, j := range all[*batchv1.Job](objects) {
		found = append(found, workload{j.Name, "Job", j.Spec.Template})
	}
	for _, j := range all[*batchv1.CronJob](objects) {
		found = append(found, workload{j.Name, "Job", j.Spec.JobTemplate.Spec.Template})
	}
	return found
}

func TestEveryOverlayBuildsAndFitsTheTypesOfKubernetes(t *testing.T) {
	for _, overlay := range overlays() {
		if got := len(workloads(decode(t, overlay))); got == 0 {
			t.Errorf("%s: got no workload", overlay)
		}
	}
}

// A Job is immutable. What does not change it, as a setting of another part, leaves its name.
func TestEachImageAndSettingMigratesByAJobOfItsOwn(t *testing.T) {
	const digest = "sha256:9d317178eceac8454a2284a9e6df2466b93c745529947f0cd42a0fa9609d7005"
	migration := func(pairs ...string) *batchv1.Job {
		t.Helper()
		jobs := all[*batchv1.Job](typed(t, edited(t, pairs...)))
		if len(jobs) != 1 {
			t.Fatalf("got %d Jobs, want one", len(jobs))
		}
		return jobs[0]
	}
	usual := migration()
	if again := migration("PNYX_TRUSTED_PROXIES=10.244.0.0/16", "PNYX_TRUSTED_PROXIES=10.245.0.0/16", "PNYX_PUBLIC_URL=", "PNYX_PUBLIC_URL=https://"); again.Name != usual.Name || !reflect.DeepEqual(again.Spec, usual.Spec) {
		t.Errorf("other settings: got %s %+v, want %s %+v", again.Name, again.Spec, usual.Name, usual.Spec)
	}
	names := map[string]string{usual.Name: "the usual"}
	for _, want := range []string{":7fb40c7", ":v1.2.3-rc.1", ":1234567", ":0.1.0@" + digest, "@" + digest} {
		tag, sum, pinned := strings.Cut(want, "@")
		with := `newTag: "` + strings.TrimPrefix(tag, ":") + `"`
		if pinned {
			with += ", digest: " + sum
		}
		job := migration(`newTag: "0.1.0"`, strings.TrimPrefix(with, `newTag: "", `))
		if image := job.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/pnyx"+want {
			t.Errorf("%s: got the image %s", want, image)
		}
		if problems := validation.IsDNS1123Label(job.Name); names[job.Name] != "" || len(problems) > 0 {
			t.Errorf("%s: got the name %s of %s, %v", want, job.Name, names[job.Name], problems)
		}
		names[job.Name] = want
	}
	job := migration("CLICKHOUSE_CLUSTER=pnyx", "CLICKHOUSE_CLUSTER=two")
	if i := slices.IndexFunc(job.Spec.Template.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Value == "two" }); names[job.Name] != "" || i < 0 {
		t.Errorf("another cluster: got the name of %s and %+v", names[job.Name], job.Spec.Template.Spec.Containers[0].Env)
	}
}

// TestARouteStandsInPlaceOfTheIngress: with the Gateway API.
func TestARouteStandsInPlaceOfTheIngress(t *testing.T) {
	objects := typed(t, edited(t, "- ingress.yaml", "- route.yaml"))
	routes := all[*gatewayv1.HTTPRoute](objects)
	if len(routes) != 1 || len(all[*networkingv1.Ingress](objects)) != 0 {
		t.Fatalf("got %d routes and %d ingresses, want one route", len(routes), len(all[*networkingv1.Ingress](objects)))
	}
	for _, service := range all[*corev1.Service](objects) {
		if backend := routes[0].Spec.Rules[0].BackendRefs[0]; service.Name == string(backend.Name) {
			if service.Spec.Ports[0].Port != *backend.Port {
				t.Errorf("the route leads to port %d, want %d of the service", *backend.Port, service.Spec.Ports[0].Port)
			}
			return
		}
	}
	t.Error("the route leads to no service")
}

// A pod's host name is made of them, and Kubernetes warns of any that is none.
func TestNamesOfWorkloadsAreNamesOfHosts(t *testing.T) {
	for _, overlay := range overlays() {
		for _, w := range workloads(decode(t, overlay)) {
			if problems := validation.IsDNS1123Label(w.name); len(problems) > 0 {
				t.Errorf("%s %s %s: %v", overlay, w.kind, w.name, problems)
			}
		}
	}
}

// Production in another namespace has to leave no trace of the usual one.
func TestAnotherNamespaceIsOneLine(t *testing.T) {
	dir := must(filepath.EvalSymlinks(t.TempDir()))(t)
	here := must(filepath.Abs("../overlays/production"))(t)
	base := must(filepath.Rel(dir, here))(t)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("namespace: gov\nresources: ["+base+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	built := must(krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir))(t)
	usual := regexp.MustCompile(`namespace"?\s*[:=]~?\s*"?pnyx\b`)
	for _, resource := range built.Resources() {
		text := must(resource.AsYAML())(t)
		if trace := usual.Find(text); trace != nil {
			t.Errorf("%s: got %q, want nothing of the usual namespace", resource.CurId(), trace)
		}
		if strings.Contains(string(text), `job=~"pnyx`) {
			t.Errorf("%s: names the job of one namespace", resource.CurId())
		}
	}
}

func TestTheAlertsInTheClusterAreThoseThatAreTested(t *testing.T) {
	rules, err := os.ReadFile("../../observe/rules.yml")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there are no alerts")
	}
	if found := all[*monitoring.PrometheusRule](decode(t, "production")); len(found) != 1 {
		t.Errorf("got %d PrometheusRules in production, want the one of the alerts", len(found))
	}
	if err != nil {
		t.Fatal(err)
	}
	wrapped := must(os.ReadFile("../components/monitoring/rules.yaml"))(t)
	_, spec, _ := strings.Cut(string(wrapped), "\nspec:\n")
	var indented bytes.Buffer
	for line := range strings.Lines(string(rules)) {
		if strings.TrimSpace(line) != "" {
			indented.WriteString("  ")
		}
		indented.WriteString(line)
	}
	if spec != indented.String() {
		t.Error("k8s/components/monitoring/rules.yaml is not observe/rules.yml: run `make docs`")
	}
}
