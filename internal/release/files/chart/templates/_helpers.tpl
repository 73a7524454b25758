{{- define "mcp-tools.labels" -}}
app.kubernetes.io/name: mcp-tools
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
