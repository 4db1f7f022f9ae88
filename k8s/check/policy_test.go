package check

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestEveryPodRunsWithoutRights(t *testing.T) {
	for _, overlay := range overlays() {
		for _, w := range workloads(decode(t, overlay)) {
			pod := w.pod.Spec
			security := pod.SecurityContext
			switch {
			case security == nil || security.RunAsNonRoot == nil || !*security.RunAsNonRoot:
				t.Errorf("%s %s: may run as root", overlay, w.name)
			case security.RunAsUser == nil || *security.RunAsUser < 1000:
				t.Errorf("%s %s: has no number of its own for its user", overlay, w.name)
			case security.SeccompProfile == nil || security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
				t.Errorf("%s %s: may make any system call", overlay, w.name)
			}
			if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("%s %s: is given a token for Kubernetes", overlay, w.name)
			}
			if pod.HostNetwork || pod.HostPID || pod.HostIPC {
				t.Errorf("%s %s: shares the node's namespaces", overlay, w.name)
			}
			for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
				checkContainer(t, overlay+" "+w.name, c)
			}
		}
	}
}

func checkContainer(t *testing.T, name string, c corev1.Container) {
	t.Helper()
	security := c.SecurityContext
	if security == nil || security.AllowPrivilegeEscalation == nil || *security.AllowPrivilegeEscalation ||
		security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem ||
		security.Capabilities == nil || !slices.Contains(security.Capabilities.Drop, "ALL") {
		t.Errorf("%s: may gain rights, or write to its image", name)
	}
	memory := c.Resources.Limits[corev1.ResourceMemory]
	asked := c.Resources.Requests[corev1.ResourceMemory]
	if memory.IsZero() || asked.IsZero() || asked.Cmp(memory) > 0 || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s: lacks a request, or a limit of memory", name)
	}
	_, tag, found := strings.Cut(c.Image, ":")
	if !found || tag == "latest" {
		t.Errorf("%s: %s may be another program tomorrow", name, c.Image)
	}
	for _, variable := range c.Env {
		if variable.Value != "" && (strings.Contains(variable.Name, "TOKEN") || strings.HasSuffix(variable.Name, "_URL")) {
			t.Errorf("%s: %s stands in the clear", name, variable.Name)
		}
	}
}

func TestNoSecretStandsInTheManifests(t *testing.T) {
	for _, overlay := range overlays() {
		objects := decode(t, overlay)
		if found := all[*corev1.Secret](objects); len(found) > 0 {
			t.Errorf("%s: holds the secret %s", overlay, found[0].Name)
		}
		for _, settings := range all[*corev1.ConfigMap](objects) {
			for name := range settings.Data {
				if strings.Contains(name, "TOKEN") || name == "REDIS_URL" || name == "CLICKHOUSE_URL" {
					t.Errorf("%s %s: %s belongs into a Secret", overlay, settings.Name, name)
				}
			}
		}
	}
}

func TestEveryNamespaceEnforcesTheRestrictedStandard(t *testing.T) {
	for _, overlay := range overlays() {
		for _, namespace := range all[*corev1.Namespace](decode(t, overlay)) {
			if namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("%s: namespace %s takes any pod", overlay, namespace.Name)
			}
		}
	}
}

func TestTheThreeProbesAskDifferentThings(t *testing.T) {
	for _, overlay := range overlays() {
		for _, w := range workloads(decode(t, overlay)) {
			if w.kind == "Job" {
				continue
			}
			for _, c := range w.pod.Spec.Containers {
				if c.StartupProbe == nil || c.ReadinessProbe == nil || c.LivenessProbe == nil {
					t.Errorf("%s %s: lacks a probe", overlay, w.name)
					continue
				}
				started, ready, lives := c.StartupProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path
				if w.name != "edge" && (started == ready || ready == lives || started == lives) {
					t.Errorf("%s %s: two of %s, %s and %s are one", overlay, w.name, started, ready, lives)
				}
			}
		}
	}
}

func TestAPodIsGivenTheTimeToDrain(t *testing.T) {
	objects := decode(t, "production")
	settings := map[string]string{}
	for _, found := range all[*corev1.ConfigMap](objects) {
		maps.Copy(settings, found.Data)
	}
	for _, w := range workloads(objects) {
		needed := map[string][]string{
			"api": {"PNYX_DRAIN_DELAY", "PNYX_SHUTDOWN_TIMEOUT"}, "edge": {"PNYX_DRAIN_DELAY", "PNYX_SHUTDOWN_TIMEOUT"}, "worker": {"PNYX_QUERY_TIMEOUT"}, "filler": {"PNYX_QUERY_TIMEOUT"}, "follow": {"PNYX_QUERY_TIMEOUT"},
		}[w.name]
		var longest time.Duration
		for _, name := range needed {
			took, err := time.ParseDuration(settings[name])
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			longest += took
		}
		if len(needed) == 0 {
			continue
		}
		if given := time.Duration(*w.pod.Spec.TerminationGracePeriodSeconds) * time.Second; given < longest+5*time.Second {
			t.Errorf("%s: is killed after %s, and may need %s", w.name, given, longest)
		}
	}
}

// arrows is who may reach which ports in production; all else is refused.
func arrows() map[string][]string {
	return map[string][]string{
		"edge":    {"53", "http"},
		"api":     {"53", "443", "6379", "26379"},
		"worker":  {"53", "443", "6379", "26379", "9440"},
		"filler":  {"53", "6379", "26379", "9440"},
		"migrate": {"53", "9440"},
		"backup":  {"53", "443", "9440"},
		"import":  {"53", "443", "9440"},
		"follow":  {"53", "443", "6379", "26379", "9440"},
	}
}

func TestPodsReachWhatTheDesignSaysAndNothingElse(t *testing.T) {
	objects := decode(t, "production")
	policies := all[*networkingv1.NetworkPolicy](objects)
	for _, w := range workloads(objects) {
		role := w.pod.Labels["app.kubernetes.io/name"]
		closedIn, closedOut := false, false
		reached := map[string]bool{}
		for _, p := range policies {
			if !selects(t, p.Spec.PodSelector, w.pod.Labels) {
				continue
			}
			closedIn = closedIn || slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
			closedOut = closedOut || slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			for _, rule := range p.Spec.Egress {
				if len(rule.To) == 0 || len(rule.Ports) == 0 {
					t.Errorf("%s: policy %s lets it go anywhere", w.name, p.Name)
				}
				for _, port := range rule.Ports {
					reached[port.Port.String()] = true
				}
			}
		}
		if !closedIn || !closedOut {
			t.Errorf("%s: nothing is refused by default", w.name)
		}
		want := arrows()[role]
		if len(reached) != len(want) {
			t.Errorf("%s: reaches the ports %v, want %v", w.name, reached, want)
		}
		for _, port := range want {
			if !reached[port] {
				t.Errorf("%s: does not reach port %s", w.name, port)
			}
		}
	}
}

// placed is the largest network, in bits, that a pod may be let into, but for those that are listed.
const placed = 20

// What runs in a pod that was taken over sends nothing to whom it likes.
func TestAttackAPodReachesNoAddressThatNobodyNamed(t *testing.T) {
	anywhere := map[string]bool{
		"worker": true, // receivers of webhooks
		"follow": true, // upstream systems
	}
	objects := decode(t, "production")
	for _, w := range workloads(objects) {
		role := w.pod.Labels["app.kubernetes.io/name"]
		for _, p := range all[*networkingv1.NetworkPolicy](objects) {
			if !selects(t, p.Spec.PodSelector, w.pod.Labels) {
				continue
			}
			for _, rule := range p.Spec.Egress {
				for _, to := range rule.To {
					if to.IPBlock != nil && !anywhere[role] {
						if network, err := netip.ParsePrefix(to.IPBlock.CIDR); err != nil || network.Bits() < placed {
							t.Errorf("%s: policy %s lets it reach %s", w.name, p.Name, to.IPBlock.CIDR)
						}
					}
				}
			}
		}
	}
}

// Who may reach any public address reaches nothing in the network of the cluster or of its machines.
func TestAttackPublicAddressesAreNoOthers(t *testing.T) {
	inside := []string{
		"10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "127.0.0.1", "192.0.0.192", "198.18.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
		"fd00:ec2::254", "fc00::1", "fe80::1", "::1", "::ffff:10.1.2.3", "64:ff9b::a00:1", "ff02::1",
	}
	for _, overlay := range overlays() {
		for _, p := range all[*networkingv1.NetworkPolicy](decode(t, overlay)) {
			for _, rule := range p.Spec.Egress {
				for _, to := range rule.To {
					if to.IPBlock == nil || !isPublic(t, to.IPBlock.CIDR) {
						continue
					}
					for _, address := range inside {
						if reaches(t, *to.IPBlock, netip.MustParseAddr(address)) {
							t.Errorf("%s: policy %s lets pods reach %s", overlay, p.Name, address)
						}
					}
				}
			}
		}
	}
}

// isPublic reports whether a network is more than one of the private ones.
func isPublic(t *testing.T, cidr string) bool {
	t.Helper()
	network := must(netip.ParsePrefix(cidr))(t)
	return !network.Addr().IsPrivate() && network.Bits() < placed
}

func reaches(t *testing.T, block networkingv1.IPBlock, address netip.Addr) bool {
	t.Helper()
	for _, except := range block.Except {
		if network, err := netip.ParsePrefix(except); err != nil || network.Contains(address) {
			return false
		}
	}
	network, err := netip.ParsePrefix(block.CIDR)
	return err == nil && network.Contains(address)
}

func TestAttackEachPartHasItsOwnUserOfTheWarehouse(t *testing.T) {
	want := map[string]string{
		"worker": "pnyx-clickhouse", "filler": "pnyx-clickhouse-pages", "follow": "pnyx-clickhouse-follow", "import": "pnyx-clickhouse-records",
		"migrate": "pnyx-clickhouse-migrate", "backup": "pnyx-clickhouse-backup", "api": "", "edge": "",
	}
	for _, w := range workloads(decode(t, "production")) {
		role, got := w.pod.Labels["app.kubernetes.io/name"], ""
		for _, variable := range w.pod.Spec.Containers[0].Env {
			if variable.Name == "CLICKHOUSE_URL" {
				got = variable.ValueFrom.SecretKeyRef.Name
			}
		}
		if expected, known := want[role]; !known || got != expected {
			t.Errorf("%s: asks the warehouse with %q, want %q", w.name, got, expected)
		}
	}
}

func TestAttackNoSecretNeedsAConfigMap(t *testing.T) {
	want := map[string]string{"PNYX_BACKUP_KEY": "backup", "PNYX_PURGE_TOKEN": "worker", "PNYX_PURGE_URL": "worker", "X402_FACILITATOR_URL": "api"}
	got := map[string]string{}
	for _, w := range workloads(decode(t, "production")) {
		for _, variable := range w.pod.Spec.Containers[0].Env {
			role := w.pod.Labels["app.kubernetes.io/name"]
			if want[variable.Name] != "" && got[variable.Name] != role && variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
				got[variable.Name] += role
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got secrets in %v, want %v", got, want)
	}
}

// A namespace has more than the one that is meant, and the admin port more than metrics.
func TestAttackAPodIsReachedByNamedPodsAlone(t *testing.T) {
	for _, p := range all[*networkingv1.NetworkPolicy](decode(t, "production")) {
		for _, rule := range p.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Errorf("policy %s lets anybody in, or at any port", p.Name)
			}
			for _, from := range rule.From {
				if from.PodSelector == nil || len(from.PodSelector.MatchLabels) == 0 {
					t.Errorf("policy %s lets all pods of a namespace in", p.Name)
				}
			}
		}
	}
}
