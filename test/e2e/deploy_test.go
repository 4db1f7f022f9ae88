package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"pnyx/access/x402"
	"pnyx/config"
	"pnyx/test/env"
)

// container is a container of a manifest that runs pnyx.
type container struct {
	file string
	args []string
	// settings are its environment variables; ports and probes are those it declares.
	settings map[string]string
	ports    map[string]string
	probes   []string
}

// documents calls visit with every YAML document of the deployment.
func documents(t *testing.T, visit func(file string, document map[string]any)) {
	t.Helper()
	files := []string{"../../compose.yaml"}
	err := filepath.WalkDir("../../k8s", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && entry.Name() == "chart" {
			return fs.SkipDir // templates, which render to the same
		}
		if filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text := env.Must(os.Open(file))(t)
		defer text.Close()
		for decoder := yaml.NewDecoder(text); ; {
			var document map[string]any
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			visit(file, document)
		}
	}
}

// Walk calls visit with every mapping below a node.
func walk(node any, visit func(map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(node)
		for name, value := range node {
			if !strings.HasPrefix(name, "x-") { // a fragment for YAML anchors
				walk(value, visit)
			}
		}
	case []any:
		for _, value := range node {
			walk(value, visit)
		}
	}
}

// containers returns every container with an image of pnyx.
func containers(t *testing.T) []container {
	t.Helper()
	var all []container
	documents(t, func(file string, document map[string]any) {
		walk(document, func(node map[string]any) {
			image, _ := node["image"].(string)
			if strings.HasPrefix(image, "pnyx") {
				all = append(all, containerOf(file, node))
			}
		})
	})
	if len(all) < 10 {
		t.Fatalf("got %d containers, want the containers of k8s and of compose.yaml", len(all))
	}
	return all
}

func containerOf(file string, node map[string]any) container {
	c := container{file: file, settings: map[string]string{}, ports: map[string]string{}}
	for _, name := range []string{"entrypoint", "command", "args"} {
		for _, word := range entries(node[name]) {
			if word != "/pnyx" {
				c.args = append(c.args, fmt.Sprint(word))
			}
		}
	}
	environment, _ := node["environment"].(map[string]any)
	for name, value := range environment {
		c.settings[name] = fmt.Sprint(value)
	}
	for _, entry := range entries(node["env"]) {
		c.settings[written(entry, "name")] = written(entry, "value")
	}
	for _, entry := range entries(node["ports"]) {
		c.ports[written(entry, "name")] = written(entry, "containerPort")
	}
	for _, name := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		if probe, is := node[name].(map[string]any); is {
			c.probes = append(c.probes, written(probe["httpGet"], "path"))
		}
	}
	return c
}

func entries(node any) []any {
	sequence, _ := node.([]any)
	return sequence
}

func written(node any, key string) string {
	fields, _ := node.(map[string]any)
	if fields[key] == nil {
		return ""
	}
	return fmt.Sprint(fields[key])
}

// generatedSettings are the settings of the ConfigMaps that kustomizations generate.
func generatedSettings(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	documents(t, func(_ string, document map[string]any) {
		for _, generator := range entries(document["configMapGenerator"]) {
			fields, _ := generator.(map[string]any)
			for _, literal := range entries(fields["literals"]) {
				name, value, _ := strings.Cut(fmt.Sprint(literal), "=")
				all[name] = value
			}
		}
	})
	return all
}

func TestDeploymentSettingsAreValid(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"GOMEMLIMIT": true, "BACKUP_DESTINATION": true} // Go's own, and one for the arguments
	for _, setting := range config.Settings() {
		known[setting.Name] = true
	}
	generated := generatedSettings(t)
	for _, c := range containers(t) {
		for name := range c.settings {
			if !known[name] {
				t.Errorf("%s: %s is not a setting", c.file, name)
			}
		}
	}
	for name := range generated {
		if !known[name] {
			t.Errorf("a ConfigMap: %s is not a setting", name)
		}
	}
	if generated["CLICKHOUSE_CLUSTER"] != "" {
		generated["CLICKHOUSE_URL"] = "clickhouse://clickhouse:9000/pnyx"
	}
	if _, err := config.Parse(generated); err != nil {
		t.Errorf("the ConfigMaps: %v", err)
	}
}

// A node that stops while it settles a payment waits for the outcome, in the cluster and by default.
func TestDeploymentLetsPaymentsEnd(t *testing.T) {
	t.Parallel()
	generated := generatedSettings(t)
	delete(generated, "CLICKHOUSE_CLUSTER") // needs the URL of a Secret
	for name, settings := range map[string]map[string]string{"in the cluster": generated, "by default": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := env.Must(config.Parse(settings))(t)
			longest := x402.MaxDuration(cfg.Payment.VerifyTimeout, cfg.API.RequestTimeout, cfg.Payment.SettleTimeout)
			if cfg.API.ShutdownTimeout < longest {
				t.Errorf("PNYX_SHUTDOWN_TIMEOUT is %s, and a payment may take %s", cfg.API.ShutdownTimeout, longest)
			}
		})
	}
}

// TestImageStageThatFetchesTheEngineHasNpm: no test builds images, and the engine comes by npm.
func TestImageStageThatFetchesTheEngineHasNpm(t *testing.T) {
	t.Parallel()
	text := env.ReadFile(t, "../../Dockerfile")
	fetches := 0
	for stage := range strings.SplitSeq(string(text), "\nFROM ") {
		if strings.Contains(stage, "bin/pnyx engine") {
			fetches++
			env.WantPart(t, " npm ", stage, "a stage fetches the engine without npm")
		}
	}
	env.Want(t, 1, fetches, "stages that fetch the engine")
}

func TestDeploymentCommandsExist(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, c := range containers(t) {
		line := strings.Join(c.args, " ")
		if len(c.args) == 0 {
			t.Errorf("%s: a container has no arguments", c.file)
		}
		if len(c.args) == 0 || asked[line] {
			continue
		}
		asked[line] = true
		if out, status := env.Run(t, nil, append(c.args, "--help")...); status != 0 || !strings.Contains(out, "pnyx "+c.args[0]) {
			t.Errorf("%s: pnyx %s: status %d: %s", c.file, line, status, out)
		}
	}
}

// listens are the settings with the address of a port of a manifest, by role.
func listens(role string) map[string]string {
	if role == "edge" {
		return map[string]string{"http": "PNYX_EDGE_LISTEN", "admin": "PNYX_EDGE_ADMIN_LISTEN"}
	}
	return map[string]string{"http": "PNYX_LISTEN", "admin": "PNYX_ADMIN_LISTEN"}
}

func TestDeploymentPortsAreListenedOn(t *testing.T) {
	t.Parallel()
	generated := generatedSettings(t)
	for _, c := range containers(t) {
		for name, port := range c.ports {
			if name == "" {
				continue // compose publishes ports without names
			}
			setting := listens(c.args[0])[name]
			address := c.settings[setting]
			if address == "" {
				address = generated[setting]
			}
			if host, at, err := net.SplitHostPort(address); err != nil || at != port || host != "" {
				t.Errorf("%s: port %s is %s, while %s=%s", c.file, name, port, setting, address)
			}
		}
	}
}

func TestDeploymentProbesAreAnswered(t *testing.T) {
	t.Parallel()
	node := start(t, t.TempDir(), []string{"REDIS_URL=redis://" + env.FreeAddress(t)}, "api")
	node.AwaitProbe("/healthz", http.StatusOK, "ok")
	probes := map[string]bool{"/metrics": true}
	for _, c := range containers(t) {
		for _, path := range c.probes {
			probes[path] = true
		}
	}
	if len(probes) != 4 {
		t.Errorf("got the probes %v, want three and the metrics", slices.Sorted(maps.Keys(probes)))
	}
	for path := range probes {
		if status, body, err := env.Fetch(node.AdminURL + path); err != nil || status == http.StatusNotFound {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
	}
}
