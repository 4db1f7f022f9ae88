package check

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../../compose.yaml"}, cli.WithProfiles([]string{"tools", "observe", "follow"}),
		cli.WithEnv(secrets(t)))
	if err != nil {
		t.Fatal(err)
	}
	return must(options.LoadProject(t.Context()))(t)
}

// secrets returns what make secrets writes, at first and beside what is there.
func secrets(t *testing.T) []string {
	t.Helper()
	makefile := must(filepath.Abs("../../Makefile"))(t)
	path, kept, made := filepath.Join(t.TempDir(), ".env"), "", ""
	for range 2 {
		if out, err := exec.CommandContext(t.Context(), "make", "-C", filepath.Dir(path), "-f", makefile, "secrets").CombinedOutput(); err != nil {
			t.Fatalf("make secrets: %v: %s", err, out)
		}
		if file, err := os.Stat(path); err != nil || file.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v, want a file that others do not read", file, err)
		}
		text, err := os.ReadFile(path)
		if made = string(text); err != nil || !strings.HasPrefix(made, kept) {
			t.Errorf("got %s, %v, want %s first", made, err, kept)
		}
		kept, _, _ = strings.Cut(made, "\nCLICKHOUSE_RECORDS_PASSWORD=") // as of a version before
		if err := os.WriteFile(path, []byte(kept), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Fields(made)
}

func TestComposeFitsItsSchema(t *testing.T) {
	p := project(t)
	for _, service := range p.Services {
		for name := range service.DependsOn {
			if _, err := p.GetService(name); err != nil {
				t.Errorf("%s: %v", service.Name, err)
			}
		}
	}
}

// TestAttackComposeHasNoSecretThatEverybodyKnows: a default stands in a public repository.
func TestAttackComposeHasNoSecretThatEverybodyKnows(t *testing.T) {
	t.Parallel()
	text := must(os.ReadFile("../../compose.yaml"))(t)
	for _, use := range regexp.MustCompile(`\$\{[^}]*\}`).FindAllString(string(text), -1) {
		if !strings.Contains(use, ":?") {
			t.Errorf("%s has a default, want it to be required", use)
		}
	}
	made := secrets(t)
	known := map[string]bool{}
	for _, line := range made {
		_, secret, _ := strings.Cut(line, "=")
		if len(secret) < 64 || known[secret] {
			t.Errorf("%s is short, or not the only one of its kind", line)
		}
		known[secret] = true
	}
	for left := range made {
		options := must(cli.NewProjectOptions([]string{"../../compose.yaml"}, cli.WithEnv(slices.Delete(slices.Clone(made), left, left+1))))(t)
		if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "make secrets") {
			t.Errorf("without %s: got %v, want what to do", made[left], err)
		}
	}
	// A variable whose name says that it is a secret has one that was made.
	secret := regexp.MustCompile(`PASSWORD|TOKEN|SECRET|AUTH$`)
	for _, service := range project(t).Services {
		for name, value := range service.Environment {
			if secret.MatchString(name) && value != nil && len(*value) < 64 {
				t.Errorf("%s: %s is %q", service.Name, name, *value)
			}
		}
	}
}

// The gateway of a network stands for everybody on the machine, and for whoever reaches it.
func TestAttackComposeTrustsTheEdgeAlone(t *testing.T) {
	t.Parallel()
	p := project(t)
	api, edge := p.Services["api"], p.Services["edge"]
	trusted := *api.Environment["PNYX_TRUSTED_PROXIES"]
	shared := edge.Networks["nodes"]
	if shared == nil || shared.Ipv4Address != trusted {
		t.Fatalf("the node trusts %s, want the address of the edge alone", trusted)
	}
	pool := p.Networks["nodes"].Ipam.Config[0]
	address, subnet, given := netip.MustParseAddr(trusted), netip.MustParsePrefix(pool.Subnet), netip.MustParsePrefix(pool.IPRange)
	if !subnet.Contains(address) || given.Contains(address) || pool.Gateway == trusted {
		t.Errorf("%s of %s may belong to another: others get addresses of %s, the gateway %s", address, subnet, given, pool.Gateway)
	}
	// The edge is known by that address only on that network.
	if origin := *edge.Environment["PNYX_EDGE_ORIGIN"]; !slices.Contains(api.Networks["nodes"].Aliases, strings.Split(strings.TrimPrefix(origin, "http://"), ":")[0]) {
		t.Errorf("the edge asks %s, want the name of the node in their network", origin)
	}
	for name, service := range p.Services {
		if _, joins := service.Networks["nodes"]; joins && name != "api" && name != "edge" {
			t.Errorf("%s is in the network of edge and nodes", name)
		}
	}
}

// TestAttackComposePartsReachWhatTheyNeed: as network policies do in a cluster.
func TestAttackComposePartsReachWhatTheyNeed(t *testing.T) {
	t.Parallel()
	p := project(t)
	for network, want := range map[string][]string{
		"cache":     {"api", "follow", "pnyx", "redis", "worker"},
		"warehouse": {"clickhouse", "follow", "grafana", "migrate", "pnyx", "worker"},
		"watch":     {"api", "edge", "follow", "grafana", "prometheus", "worker"},
		"out":       {"follow", "grafana", "worker"},
		"nodes":     {"api", "edge"},
	} {
		var got []string
		for name, service := range p.Services {
			if _, joins := service.Networks[network]; joins {
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", network, got, want)
		}
		if internal := p.Networks[network].Internal; internal != slices.Contains([]string{"cache", "warehouse", "watch"}, network) {
			t.Errorf("%s: got internal %t", network, internal)
		}
	}
	for name, service := range p.Services {
		if _, joins := service.Networks["default"]; joins {
			t.Errorf("%s is in the network of all", name)
		}
		if !slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s may gain rights", name)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to the network of the machine", name, port.Published)
			}
		}
	}
}
