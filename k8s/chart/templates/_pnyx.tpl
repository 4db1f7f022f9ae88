{{/* Made by make docs. */}}
{{- define "pnyx.image" }}{{ .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}{{ end }}
{{- define "pnyx.settings" }}{{ list "8ff22bb46c24hddfd65ff9fkdhg576dhmbk62k68b96m4t6c245t4t5h7424cm8m2t5f6h" .Values.settings .Values.follow.sources .Values.backup.enabled | toJson | sha256sum | trunc 10 }}{{ end }}
{{- define "pnyx.migration" }}{{ list "8ff22bb46c24hddfd65ff9fkdhg576dhmbk62k68b96m4t6c245t4t5h7424cm8m2t5f6h" .Values.image .Values.settings.worker .Values.resources | toJson | sha256sum | trunc 10 }}{{ end }}
{{- define "pnyx.egress" }}{{ $to := list }}{{ range .to }}{{ $to = append $to (dict "ipBlock" (dict "cidr" .)) }}{{ end }}
{{- if $to }}{{ list (dict "ports" .ports "to" $to) | toJson }}{{ else }}[]{{ end }}{{ end }}
