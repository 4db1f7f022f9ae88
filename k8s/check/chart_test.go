package check

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The templates of k8s/chart are made of what kustomize builds of the overlay production: with its values as they
// stand, the chart renders that. Numbers and settings stay in the templates, where values override them.

// production is kustomize's output for the overlay, with replacements of texts in kustomization.yaml, in pairs.
func production(k8s string, pairs ...string) (resmap.ResMap, error) {
	disk, memory := filesys.MakeFsOnDisk(), filesys.MakeFsInMemory()
	err := disk.Walk(k8s, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := disk.ReadFile(path)
		if err != nil {
			return err
		}
		to := strings.TrimPrefix(path, k8s+"/")
		if to == "overlays/production/kustomization.yaml" {
			for pair := range slices.Chunk(pairs, 2) {
				if !strings.Contains(string(text), pair[0]) {
					return fmt.Errorf("%s has no %q", path, pair[0])
				}
				text = []byte(strings.ReplaceAll(string(text), pair[0], pair[1]))
			}
		}
		return memory.WriteFile(to, text)
	})
	if err != nil {
		return nil, err
	}
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "overlays/production")
}

type object map[string]any

// at returns the object at a path of keys, of a list its first element; nil if there is none.
func (o object) at(keys ...string) object {
	found := o
	for _, key := range keys {
		value := found[key]
		if all := found.list(key); len(all) > 0 {
			value = all[0]
		}
		found = decoded(value)
	}
	return found
}

func (o object) list(key string) []any {
	all, _ := o[key].([]any)
	return all
}

// decoded returns what YAML decodes an object to; nil for another value.
func decoded(value any) object {
	o, _ := value.(map[string]any)
	return o
}

// String returns the kind and the name.
func (o object) String() string { return fmt.Sprintf("%v/%v", o["kind"], o.at("metadata")["name"]) }

// template is what an expression of Helm's computes, in base64: YAML quotes and folds other texts.
func template(format string, args ...any) string {
	return "⟦" + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, format, args...)) + "⟧"
}

// constant is a value of the manifests within an expression.
func constant(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was decoded of YAML
	}
	decode := "fromJson"
	if text[0] == '[' {
		decode = "fromJsonArray"
	}
	return "(" + decode + " `" + string(text) + "`)"
}

// hashed is the name of a ConfigMap, or Job, before the hash of its content.
var hashed = regexp.MustCompile(`^(settings|timeouts|api-settings|worker-settings|edge-settings|sources|migrate)-([0-9a-z]{10})$`)

// unhashed returns a name without the hash of the content that kustomize adds.
func unhashed(name string) string { return hashed.ReplaceAllString(name, "$1") }

// templates are the files of the folder templates of the chart, by name, for manifests in a folder.
func templates(k8s string) (map[string]string, error) {
	built, err := production(k8s, "- ingress.yaml", "- ingress.yaml\n  - route.yaml")
	if err != nil {
		return nil, err
	}
	conditions, err := conditions(k8s)
	if err != nil {
		return nil, err
	}
	texts := map[string][]string{}
	var hashes []string
	for _, resource := range built.Resources() {
		fields, err := resource.Map()
		if err != nil {
			return nil, err
		}
		o := object(fields)
		if o["kind"] == "Namespace" {
			continue // made by helm install --create-namespace
		}
		if found := hashed.FindStringSubmatch(resource.GetName()); found != nil {
			hashes = append(hashes, found[2])
		}
		use(o)
		text, err := yaml.Marshal(map[string]any(o))
		if err != nil {
			return nil, err
		}
		file := strings.ToLower(fmt.Sprint(o["kind"]))
		whole := filled(string(text))
		if condition := conditions[resource.GetKind()+"/"+unhashed(resource.GetName())]; condition != "" {
			whole = "{{- if " + condition + " }}\n" + whole + "{{- end }}\n"
		}
		texts[file] = append(texts[file], whole)
	}
	made := map[string]string{"_pnyx.tpl": strings.ReplaceAll(helpers, "HASHES", strings.Join(hashes, ""))}
	for file, all := range texts {
		made[file+".yaml"] = "# Made of k8s/overlays/production by make docs.\n" + strings.Join(all, "---\n")
	}
	return made, nil
}

const helpers = `{{/* Made by make docs. */}}
{{- define "pnyx.image" }}{{ .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}{{ end }}
{{- define "pnyx.settings" }}{{ list "HASHES" .Values.settings .Values.follow.sources .Values.backup.enabled | toJson | sha256sum | trunc 10 }}{{ end }}
{{- define "pnyx.migration" }}{{ list "HASHES" .Values.image .Values.settings.worker .Values.resources | toJson | sha256sum | trunc 10 }}{{ end }}
{{- define "pnyx.egress" }}{{ $to := list }}{{ range .to }}{{ $to = append $to (dict "ipBlock" (dict "cidr" .)) }}{{ end }}
{{- if $to }}{{ list (dict "ports" .ports "to" $to) | toJson }}{{ else }}[]{{ end }}{{ end }}
`

// filled returns YAML with the expressions in place of their values, but not in texts of alerts.
func filled(text string) string {
	text = strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
	return regexp.MustCompile(`⟦(.*?)⟧`).ReplaceAllStringFunc(text, func(value string) string {
		expression, err := base64.StdEncoding.DecodeString(strings.Trim(value, "⟦⟧"))
		if err != nil {
			panic(err) // it was encoded above
		}
		return "{{ " + string(expression) + " }}"
	})
}

// conditions are when objects are rendered, by kind and name: of each component, and the ways to the edge.
func conditions(k8s string) (map[string]string, error) {
	found := map[string]string{"ConfigMap/sources": ".Values.follow.enabled"}
	for pattern, condition := range map[string]string{
		"components/backup/backup.yaml": ".Values.backup.enabled", "components/follow/follow.yaml": ".Values.follow.enabled",
		"components/import/import.yaml": ".Values.import.enabled", "components/import-s3/network.yaml": "and .Values.import.enabled .Values.import.objectStore",
		"components/monitoring/monitors.yaml": ".Values.monitoring.enabled", "components/monitoring/rules.yaml": ".Values.monitoring.enabled",
		"overlays/production/ingress.yaml": ".Values.ingress.enabled", "overlays/production/route.yaml": ".Values.gateway.enabled",
	} {
		text, err := os.ReadFile(filepath.Join(k8s, pattern))
		if err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var o object
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				return nil, fmt.Errorf("%s: %w", pattern, err)
			}
			found[o.String()] = condition
		}
	}
	return found, nil
}

// use puts expressions in place of what values decide.
func use(o object) {
	metadata := o.at("metadata")
	name := unhashed(fmt.Sprint(metadata["name"]))
	metadata["name"], metadata["namespace"] = name, template(".Release.Namespace | quote")
	switch o["kind"] {
	case "ConfigMap":
		useSettings(o, name)
	case "Deployment":
		if replicas, has := o.at("spec")["replicas"]; has {
			o.at("spec")["replicas"] = template(`get .Values.replicas %q | default %v`, name, replicas)
		}
		o.at("spec", "template", "metadata")["annotations"] = map[string]any{"checksum/settings": template(`include "pnyx.settings" .`)}
		usePod(o.at("spec", "template", "spec"))
	case "Job":
		metadata["name"] = template(`printf "migrate-%%s" (include "pnyx.migration" .)`)
		pod := o.at("spec", "template", "spec")
		usePod(pod)
		for _, variable := range pod.at("containers").list("env") {
			if v := decoded(variable); v["name"] == "CLICKHOUSE_CLUSTER" {
				v["value"] = template(`.Values.settings.worker.CLICKHOUSE_CLUSTER | default "" | quote`)
			}
		}
	case "CronJob":
		pod := o.at("spec", "jobTemplate", "spec", "template", "spec")
		usePod(pod)
		if first, has := pod["initContainers"]; has {
			pod["initContainers"] = template("ternary %s list .Values.import.objectStore | toJson", constant(first))
		}
		o.at("spec")["schedule"] = template(`get .Values.%s "schedule" | default %q | quote`, name, o.at("spec")["schedule"])
	case "HorizontalPodAutoscaler":
		spec := o.at("spec")
		for _, bound := range []string{"minReplicas", "maxReplicas"} {
			spec[bound] = template("dig %q %q %v .Values.autoscaling", name, bound, spec[bound])
		}
		all := spec.list("metrics")
		spec["metrics"] = template("ternary %s %s .Values.monitoring.enabled | toJson", constant(all), constant(all[:1]))
	case "NetworkPolicy":
		useAddresses(o, name)
	case "Ingress":
		o.at("spec")["ingressClassName"] = template(".Values.ingress.className | quote")
		o.at("spec", "rules")["host"] = template(".Values.host | quote")
		tls := o.at("spec", "tls")
		tls["hosts"], tls["secretName"] = []any{template(".Values.host | quote")}, template(".Values.ingress.tlsSecret | quote")
	case "HTTPRoute":
		spec := o.at("spec")
		spec["hostnames"] = []any{template(".Values.host | quote")}
		spec["parentRefs"] = template(".Values.gateway.parentRefs | default %s | toJson", constant(spec["parentRefs"]))
	}
}

// useSettings puts values over the settings of a ConfigMap.
func useSettings(o object, name string) {
	if name == "sources" {
		o["data"] = map[string]any{"sources.yaml": template(".Values.follow.sources | toYaml | toJson")}
		return
	}
	part := map[string]string{"settings": "common", "timeouts": "timeouts"}[name]
	if part == "" {
		part = strings.TrimSuffix(name, "-settings")
	}
	computed := "dict"
	if name == "worker-settings" {
		computed = `dict "PNYX_BACKUP_SCHEDULED" (ternary "on" "off" .Values.backup.enabled)`
	}
	o["data"] = template("mergeOverwrite %s ("+computed+") (get .Values.settings %q | default dict) | toJson", constant(o["data"]), part)
}

// usePod names images, ConfigMaps and resources of a pod.
func usePod(pod object) {
	for _, c := range pod.list("containers") {
		container := decoded(c)
		image := "image"
		if strings.Contains(fmt.Sprint(container["image"]), "/pnyx-edge:") {
			image = "edgeImage"
		}
		container["image"] = template(`include "pnyx.image" .Values.%s`, image)
		container["resources"] = template("mergeOverwrite %s (get .Values.resources %q | default dict) | toJson", constant(container["resources"]), container["name"])
		for _, source := range container.list("envFrom") {
			if reference := decoded(source).at("configMapRef"); reference != nil {
				reference["name"] = unhashed(fmt.Sprint(reference["name"]))
			}
		}
	}
	for _, volume := range pod.list("volumes") {
		if settings := decoded(volume).at("configMap"); settings != nil {
			settings["name"] = unhashed(fmt.Sprint(settings["name"]))
		}
	}
}

// useAddresses lets values say who is reached, and by whom.
func useAddresses(o object, name string) {
	to := map[string]string{
		"to-redis": "redis", "to-clickhouse": "clickhouse", "to-payment": "payment", "backup-to-bucket": "backupBucket", "import-to-object-store": "importBucket",
	}
	from := map[string]string{"edge": "callers", "edge-from-gateway": "gateway", "metrics": "prometheus"}
	if key := to[name]; key != "" { // a rule whose list of peers is empty would allow every address
		o.at("spec")["egress"] = template(`include "pnyx.egress" (dict "to" .Values.addresses.%s "ports" %s)`, key, constant(o.at("spec", "egress")["ports"]))
	}
	if value := from[name]; value != "" {
		rule := o.at("spec", "ingress")
		rule["from"] = template("get .Values.from %q | default %s | toJson", value, constant(rule["from"]))
	}
}
