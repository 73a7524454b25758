package config

// check finds values that are valid alone, but not together.
func (l *Loaded) check() Problems {
	c := &l.Config
	var problems Problems
	add := func(path, format string, args ...any) {
		problems = append(problems, l.Problem(path, format, args...))
	}
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		add("server.tls_cert", "a certificate and its key go together; set both tls_cert and tls_key, or neither")
	}
	if c.Server.Metrics != "" && c.Server.Metrics == c.Server.HTTP {
		add("server.metrics", "this is the address of server.http; metrics need one of their own")
	}

	if c.Sandbox.Mode == "docker" && c.Sandbox.Docker.Image == "" {
		add("sandbox.docker.image", "name the image that containers are made of; mode docker needs one")
	}
	if e := c.Memory.Embeddings; (e.URL == "") != (e.Model == "") {
		add("memory.embeddings", "an endpoint and its model go together; set both url and model, or neither")
	}
	c.Models.check(add)
	if model := c.Memory.Knowledge.Model; model != "" && !c.Models.have(model) {
		add("memory.knowledge.model", "%q is not a model of models.providers; name one as PROVIDER/MODEL, or default",
			model)
	}
	c.Media.check(add)
	c.Messaging.check(add)
	c.Connections.OAuth.check(c.Server.PublicURL, add)
	checkTokens(c.Connections.Tokens, add)
	return problems
}

func (o OAuth) check(publicURL string, add func(path, format string, args ...any)) {
	switch {
	case o.Issuer == "" && (o.Audience != "" || o.Scopes != nil):
		add("connections.oauth", "without an issuer the rest has no meaning; set issuer, or remove the section")
	case o.Issuer == "":
	case o.Audience == "" && publicURL == "":
		add("connections.oauth.audience",
			"set audience or server.public_url; without one, tokens meant for others would count here")
	case len(o.Scopes) == 0:
		add("connections.oauth.scopes", "set scopes; without any, no token opens anything")
	}
}

func checkTokens(tokens map[string]Token, add func(path, format string, args ...any)) {
	names := make(map[string]string) // by hash
	for _, name := range sorted(tokens) {
		hash := tokens[name].Hash
		if other, taken := names[hash]; taken {
			add(under("connections.tokens", name)+".hash", "%s has the same token", other)
		}
		names[hash] = name
	}
}
