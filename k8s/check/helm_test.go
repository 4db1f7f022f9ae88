package check

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

const k8s = ".."

var update = flag.Bool("update", false, "write the templates of the chart")

func TestTheTemplatesAreMadeOfTheManifests(t *testing.T) {
	made := must(templates(k8s))(t)
	folder := filepath.Join(k8s, "chart", "templates")
	if *update {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range made {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(made) {
		t.Errorf("got %d templates, %v, want %d: run make docs", len(files), err, len(made))
	}
	for name, want := range made {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != want {
			t.Errorf("%s is not what the manifests make, %v: run make docs", name, err)
		}
	}
}

type objects map[string]map[string]any

// add adds objects in YAML, without hashes and namespaces, which kustomize and Helm make in their ways.
func (o objects) add(t *testing.T, text string) {
	t.Helper()
	var found map[string]any
	if err := yaml.Unmarshal([]byte(text), &found); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(found) == 0 || found["kind"] == "Namespace" {
		return
	}
	if data, is := found["data"].(map[string]any); is && data["sources.yaml"] != nil {
		var sources any
		if err := yaml.Unmarshal([]byte(fmt.Sprint(data["sources.yaml"])), &sources); err != nil {
			t.Fatal(err)
		}
		data["sources.yaml"] = sources
	}
	found, _ = plain(found).(map[string]any)
	metadata, _ := found["metadata"].(map[string]any)
	key := fmt.Sprintf("%s/%s", found["kind"], metadata["name"])
	if o[key] != nil {
		t.Errorf("%s is there twice", key)
	}
	o[key] = found
}

func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if annotations, is := value["annotations"].(map[string]any); is {
			if delete(annotations, "checksum/settings"); len(annotations) == 0 {
				delete(value, "annotations")
			}
		}
		if first, is := value["initContainers"].([]any); is && len(first) == 0 {
			delete(value, "initContainers")
		}
		for key := range value {
			value[key] = plain(value[key])
		}
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	case string:
		return unhashed(value)
	}
	return value
}

// files returns the texts that the chart makes of values, in a namespace.
func files(t *testing.T, namespace, values string) map[string]string {
	t.Helper()
	return must(rendered(namespace, values))(t)
}

func rendered(namespace, values string) (map[string]string, error) {
	loaded, err := loader.Load(filepath.Join(k8s, "chart"))
	if err != nil {
		return nil, err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "any", Namespace: namespace, IsInstall: true}
	filled, err := chartutil.ToRenderValues(loaded, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, filled)
}

// render returns what the chart makes of values, in a namespace.
func render(t *testing.T, namespace, values string) objects {
	t.Helper()
	found := objects{}
	for name, text := range files(t, namespace, values) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			found.add(t, document)
		}
	}
	return found
}

func built(t *testing.T, pairs ...string) objects {
	t.Helper()
	found := objects{}
	for _, resource := range edited(t, pairs...).Resources() {
		found.add(t, string(must(resource.AsYAML())(t)))
	}
	return found
}

// With values as they stand, and with values in place of each edit of an overlay.
func TestTheChartRendersWhatKustomizeBuilds(t *testing.T) {
	const component = "  - ../../components/"
	for name, test := range map[string]struct {
		values    string
		namespace string
		pairs     []string
	}{
		"production": {},
		"another namespace, cluster, host and digest": {
			values: "image: {repository: example.org:5000/p, tag: 7fb40c7, digest: sha256:0a}\nedgeImage: {tag: v1.2.3-rc.1}\n" +
				"settings: {worker: {CLICKHOUSE_CLUSTER: ''}, api: {PNYX_DRAIN_DELAY: 20s}}\n",
			namespace: "gov",
			pairs: []string{
				"namespace: pnyx", "namespace: gov", `newName: registry.example.com/pnyx, newTag: "0.1.0"`, `newName: example.org:5000/p, newTag: 7fb40c7, digest: "sha256:0a"`,
				`pnyx-edge, newTag: "0.1.0"`, "pnyx-edge, newTag: v1.2.3-rc.1", "CLICKHOUSE_CLUSTER=pnyx", "CLICKHOUSE_CLUSTER=",
				"PNYX_TRUSTED_PROXIES=10.244.0.0/16", "PNYX_TRUSTED_PROXIES=10.244.0.0/16\n      - PNYX_DRAIN_DELAY=20s",
			},
		},
		"without any component": {
			values: "monitoring: {enabled: false}\nbackup: {enabled: false}\nimport: {enabled: false}\nfollow: {enabled: false}\naddresses: {payment: []}\n",
			pairs: []string{
				"  - path: addresses.yaml\n", "  - path: addresses.yaml\n  - target: {kind: NetworkPolicy, name: to-payment}\n    patch: |-\n      - {op: replace, path: /spec/egress, value: []}\n",
				"components:\n", "", component + "monitoring\n", "", component + "backup\n", "", component + "import\n", "", component + "import-s3\n", "", component + "follow\n", "",
				"  - name: sources\n    files: [sources.yaml]\n", "",
			},
		},
		"numbers of its own": {
			values: "replicas: {worker: 3}\nautoscaling: {api: {minReplicas: 5}}\nresources: {worker: {limits: {memory: 2Gi}}}\n" +
				"from: {callers: [{podSelector: {matchLabels: {app: proxy}}}]}\n",
			pairs: []string{"patches:\n", `patches:
  - target: {kind: Deployment, name: worker}
    patch: |-
      - {op: replace, path: /spec/replicas, value: 3}
      - {op: replace, path: /spec/template/spec/containers/0/resources/limits/memory, value: 2Gi}
  - target: {kind: HorizontalPodAutoscaler, name: api}
    patch: |-
      - {op: replace, path: /spec/minReplicas, value: 5}
  - target: {kind: NetworkPolicy, name: edge}
    patch: |-
      - {op: replace, path: /spec/ingress/0/from, value: [{podSelector: {matchLabels: {app: proxy}}}]}
`},
		},
		"a volume alone, and the Gateway API": {
			values: "import: {objectStore: false}\ningress: {enabled: false}\ngateway: {enabled: true}\n",
			pairs:  []string{component + "import-s3\n", "", "- ingress.yaml", "- route.yaml"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := render(t, cmp.Or(test.namespace, "pnyx"), test.values)
			if diff := gocmp.Diff(built(t, test.pairs...), got); diff != "" {
				t.Errorf("-kustomize +Helm:\n%s", diff)
			}
		})
	}
}

// TestTheChartRefusesOddValues: what it would drop, or render as something else.
func TestTheChartRefusesOddValues(t *testing.T) {
	for _, values := range []string{
		"image: {repository: '&x'}", "image: {tag: 7100000}", "image: {tag: v1/2}", "edgeImage: {digest: 0a}", "settings: {apis: {}}", "settings: {api: {PNYX_LOG_SAMPLE: 50}}",
		"replicas: {worker: 0}", "replicas: {api: 3}", "monitoring: {enabled: 'false'}", "addresses: {redis: [10.20.1.5]}", "from: {callers: []}",
		"host: https://api.example.com", "resources: {worker: {limit: {}}}", "backups: {enabled: false}",
	} {
		if made, err := rendered("pnyx", values); err == nil {
			t.Errorf("%s: got %d files", values, len(made))
		}
	}
}

// TestPodsRestartWithTheirSettings: whatever part of the values decides them.
func TestPodsRestartWithTheirSettings(t *testing.T) {
	seen := map[string]string{}
	for _, values := range []string{"", "backup: {enabled: false}", "settings: {api: {PNYX_DRAIN_DELAY: 20s}}", "follow: {sources: {contact: other@example.com}}"} {
		sum := regexp.MustCompile(`checksum/settings: \w+`).FindString(files(t, "pnyx", values)["pnyx/templates/deployment.yaml"])
		if same, is := seen[sum]; is || sum == "" {
			t.Errorf("%q has %q, as %q has", values, sum, same)
		}
		seen[sum] = values
	}
}

// TestEachImageOfTheChartMigratesByAJobOfItsOwn: a Job is immutable.
func TestEachImageOfTheChartMigratesByAJobOfItsOwn(t *testing.T) {
	migration := func(values string) string {
		return regexp.MustCompile(`name: (migrate-\w+)`).FindString(files(t, "pnyx", values)["pnyx/templates/job.yaml"])
	}
	names := map[string]bool{}
	for _, values := range []string{"", "image: {tag: 7fb40c7}", "image: {digest: sha256:0a}", "settings: {worker: {CLICKHOUSE_CLUSTER: two}}"} {
		names[migration(values)] = true
	}
	if again := migration("settings: {api: {PNYX_DRAIN_DELAY: 20s}}"); len(names) != 4 || !names[again] || again == "" {
		t.Errorf("got %v and %q, want four, and settings of nodes to make no other", names, again)
	}
}
