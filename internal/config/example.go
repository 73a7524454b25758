package config

// Example returns a file to begin with. It loads as it is, and with the marks
// before the settings in it taken away.
func Example() []byte { return []byte(example) }

const example = `# Every line is optional; what is left out has its default.
# To use a setting, remove the # before it.
server:
  # http: 127.0.0.1:8080 # instead of stdio
  # tls_cert: cert.pem # relative to this file
  # tls_key: key.pem
  # allowed_hosts: [mcp.example.com]
  # public_url: https://mcp.example.com/mcp

connections:
  # tokens: # mcp-tools token create makes tokens too, and keeps them elsewhere
  #   ci:
  #     hash: 3b1f0a2c4d5e69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0
  #     profiles: [readonly]
  # oauth:
  #   issuer: https://login.example.com
  #   scopes:
  #     tools:read: [readonly]
  #     tools:write: [coding]

policy:
  autonomy: supervised # readonly, supervised or full
  profiles:
    clerk:
      allow: [datetime, session_status, read_result]
  # deny_hard: ["group:automation"] # nothing adds these back

limits:
  calls_per_minute: 600

scrub:
  # values: ["secret:deploy-key", "env:DEPLOY_TOKEN", "file:~/.config/deploy.key"]
  # rules:
  #   badge: 'BADGE-[0-9]{8}'

vault:
  # key_from: keyring # or file; mcp-tools secrets set NAME keeps a secret

telemetry:
  log_format: text # or json
  # otlp_endpoint: https://collector.example.com:4318
  # otlp_headers: {Authorization: "env:OTLP_AUTHORIZATION"}
`
