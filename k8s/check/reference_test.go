package check

import (
	"os"
	"regexp"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// selects reports whether a selector takes pods with some labels.
func selects(t *testing.T, selector metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	parsed := must(metav1.LabelSelectorAsSelector(&selector))(t)
	return parsed.Matches(labels.Set(of))
}

// selected returns the workloads whose pods a selector takes.
func selected(t *testing.T, objects []runtime.Object, selector metav1.LabelSelector) []workload {
	t.Helper()
	var found []workload
	for _, w := range workloads(objects) {
		if selects(t, selector, w.pod.Labels) {
			found = append(found, w)
		}
	}
	return found
}

// declares reports whether a pod has a port of that name or number.
func declares(pod corev1.PodSpec, port intstr.IntOrString) bool {
	for _, c := range pod.Containers {
		for _, declared := range c.Ports {
			if port.Type == intstr.String && declared.Name == port.StrVal || declared.ContainerPort == port.IntVal {
				return true
			}
		}
	}
	return false
}

func TestEveryConfigMapAndAccountThatIsNamedExists(t *testing.T) {
	for _, overlay := range overlays() {
		objects := decode(t, overlay)
		var maps, accounts []string
		for _, settings := range all[*corev1.ConfigMap](objects) {
			maps = append(maps, settings.Name)
		}
		for _, account := range all[*corev1.ServiceAccount](objects) {
			accounts = append(accounts, account.Name)
		}
		for _, w := range workloads(objects) {
			if !slices.Contains(accounts, w.pod.Spec.ServiceAccountName) {
				t.Errorf("%s %s: there is no account %q", overlay, w.name, w.pod.Spec.ServiceAccountName)
			}
			for _, c := range slices.Concat(w.pod.Spec.InitContainers, w.pod.Spec.Containers) {
				for _, from := range c.EnvFrom {
					if from.SecretRef != nil {
						continue // made by hand, see below
					}
					if from.ConfigMapRef == nil || !slices.Contains(maps, from.ConfigMapRef.Name) {
						t.Errorf("%s %s: there is no ConfigMap %+v", overlay, w.name, from)
					}
				}
			}
		}
	}
}

func TestEverySecretThatIsNamedIsMadeInTheDocumentation(t *testing.T) {
	guide := must(os.ReadFile("../../docs/production.md"))(t)
	want := func(of, name, key string) {
		t.Helper()
		made := regexp.MustCompile(`create secret (generic|tls) ` + name + `(?s:[^\n]*(\\\n[^\n]*)*)` + key)
		if !made.Match(guide) {
			t.Errorf("%s: docs/production.md does not say how to make %s of %s", of, key, name)
		}
	}
	objects := decode(t, "production")
	for _, w := range workloads(objects) {
		for _, c := range slices.Concat(w.pod.Spec.InitContainers, w.pod.Spec.Containers) {
			for _, variable := range c.Env {
				if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
					want(w.name, variable.ValueFrom.SecretKeyRef.Name, "--from-literal="+variable.ValueFrom.SecretKeyRef.Key+"=")
				}
			}
			for _, from := range c.EnvFrom {
				if from.SecretRef != nil {
					want(w.name, from.SecretRef.Name, "--from-literal=")
				}
			}
		}
	}
	for _, ingress := range all[*networkingv1.Ingress](objects) {
		for _, tls := range ingress.Spec.TLS {
			want("ingress "+ingress.Name, tls.SecretName, "--cert=")
		}
	}
}

func TestEveryVolumeClaimExists(t *testing.T) {
	for _, overlay := range overlays() {
		objects := decode(t, overlay)
		claims := map[string]bool{}
		for _, claim := range all[*corev1.PersistentVolumeClaim](objects) {
			claims[claim.Name] = true
		}
		for _, w := range workloads(objects) {
			for _, volume := range w.pod.Spec.Volumes {
				if claim := volume.PersistentVolumeClaim; claim != nil && !claims[claim.ClaimName] {
					t.Errorf("%s %s: there is no claim %s", overlay, w.name, claim.ClaimName)
				}
			}
		}
	}
}

func TestEveryProbeAsksADeclaredPort(t *testing.T) {
	for _, overlay := range overlays() {
		for _, w := range workloads(decode(t, overlay)) {
			for _, c := range w.pod.Spec.Containers {
				for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
					if probe != nil && !declares(w.pod.Spec, probe.HTTPGet.Port) {
						t.Errorf("%s %s: a probe asks port %s, which nobody declares", overlay, w.name, &probe.HTTPGet.Port)
					}
				}
			}
		}
	}
}

func TestEveryServiceLeadsToAPort(t *testing.T) {
	for _, overlay := range overlays() {
		objects := decode(t, overlay)
		ports := map[string][]string{}
		for _, service := range all[*corev1.Service](objects) {
			behind := selected(t, objects, metav1.LabelSelector{MatchLabels: service.Spec.Selector})
			if len(behind) != 1 {
				t.Errorf("%s: service %s leads to %d workloads", overlay, service.Name, len(behind))
				continue
			}
			for _, port := range service.Spec.Ports {
				ports[service.Name] = append(ports[service.Name], port.Name)
				if !declares(behind[0].pod.Spec, port.TargetPort) {
					t.Errorf("%s: service %s leads to port %s, which nobody declares", overlay, service.Name, &port.TargetPort)
				}
			}
		}
		for _, ingress := range all[*networkingv1.Ingress](objects) {
			for _, rule := range ingress.Spec.Rules {
				for _, path := range rule.HTTP.Paths {
					to := path.Backend.Service
					if !slices.Contains(ports[to.Name], to.Port.Name) {
						t.Errorf("%s: ingress %s leads to %s %s, which is not there", overlay, ingress.Name, to.Name, to.Port.Name)
					}
				}
			}
		}
	}
}

func TestEverySelectorTakesWhatItIsFor(t *testing.T) {
	for _, overlay := range overlays() {
		objects := decode(t, overlay)
		for _, d := range all[*appsv1.Deployment](objects) {
			if got := selected(t, objects, *d.Spec.Selector); len(got) != 1 || got[0].name != d.Name {
				t.Errorf("%s: deployment %s selects %d workloads", overlay, d.Name, len(got))
			}
			for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
				if !selects(t, *spread.LabelSelector, d.Spec.Template.Labels) {
					t.Errorf("%s: deployment %s spreads the pods of another", overlay, d.Name)
				}
			}
		}
		for _, budget := range all[*policyv1.PodDisruptionBudget](objects) {
			if got := selected(t, objects, *budget.Spec.Selector); len(got) != 1 || got[0].name != budget.Name {
				t.Errorf("%s: budget %s is for %d workloads", overlay, budget.Name, len(got))
			}
		}
		for _, policy := range all[*networkingv1.NetworkPolicy](objects) {
			behind := selected(t, objects, policy.Spec.PodSelector)
			if len(behind) == 0 {
				t.Errorf("%s: policy %s is for nobody", overlay, policy.Name)
			}
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					for _, w := range behind {
						if !declares(w.pod.Spec, *port.Port) {
							t.Errorf("%s: policy %s opens port %s, which %s does not have", overlay, policy.Name, port.Port, w.name)
						}
					}
				}
			}
		}
		for _, monitor := range all[*monitoring.PodMonitor](objects) {
			for _, w := range selected(t, objects, monitor.Spec.Selector) {
				for _, endpoint := range monitor.Spec.PodMetricsEndpoints {
					if !declares(w.pod.Spec, intstr.FromString(*endpoint.Port)) {
						t.Errorf("%s: %s is scraped at port %s, which it does not have", overlay, w.name, *endpoint.Port)
					}
				}
			}
		}
	}
}

func TestEveryScaledDeploymentExistsAndLeavesItsNumberToTheScaler(t *testing.T) {
	for _, overlay := range overlays() {
		objects := decode(t, overlay)
		for _, scaler := range all[*autoscalingv2.HorizontalPodAutoscaler](objects) {
			found := false
			for _, d := range all[*appsv1.Deployment](objects) {
				if d.Name == scaler.Spec.ScaleTargetRef.Name {
					found = true
					if d.Spec.Replicas != nil {
						t.Errorf("%s: each apply of %s takes back what its scaler did", overlay, d.Name)
					}
				}
			}
			if !found {
				t.Errorf("%s: scaler %s scales nothing", overlay, scaler.Name)
			}
			// Metrics of other sources may be missing: the processor's is always there.
			if !slices.ContainsFunc(scaler.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
				return m.Resource != nil && m.Resource.Name == corev1.ResourceCPU
			}) {
				t.Errorf("%s: scaler %s does not look at the processor", overlay, scaler.Name)
			}
		}
	}
}
