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
	if stop, warn := c.Limits.RepeatStop, c.Limits.RepeatWarn; stop > 0 && stop < warn {
		add("limits.repeat_stop", "%d is less than repeat_warn: %d; the advice comes first", stop, warn)
	}

	if c.Sandbox.Mode == "docker" && c.Sandbox.Docker.Image == "" {
		add("sandbox.docker.image", "name the image that containers are made of; mode docker needs one")
	}
	if e := c.Memory.Embeddings; (e.URL == "") != (e.Model == "") {
		add("memory.embeddings", "an endpoint and its model go together; set both url and model, or neither")
	}
	checkPrograms(c.Exec.Programs, add)
	checkAgents(c.Agents, add)
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

func checkTokens(tokens []Token, add func(path, format string, args ...any)) {
	names, hashes := make(map[string]bool), make(map[string]bool)
	for i, t := range tokens {
		path := indexed("connections.tokens", i)
		if names[t.Name] {
			add(path+".name", "two tokens are called %q; logs could not tell them apart", t.Name)
		}
		if hashes[t.Hash] {
			add(path+".hash", "an earlier entry has the same token")
		}
		names[t.Name], hashes[t.Hash] = true, true
	}
}

func checkAgents(agents []Agent, add func(path, format string, args ...any)) {
	seen := make(map[string]bool)
	for i, a := range agents {
		path := indexed("agents", i)
		if seen[a.Name] {
			add(path+".name", "two agents are called %q; only one of these can be meant", a.Name)
		}
		if a.Evolve && a.Kind != "predefined" {
			add(path+".evolve", "this is about predefined agents; an open one writes its SOUL.md anyway")
		}
		seen[a.Name] = true
	}
}

func checkPrograms(programs []Program, add func(path, format string, args ...any)) {
	seen := make(map[string]bool)
	for i, p := range programs {
		path := indexed("exec.programs", i)
		if seen[p.Name] {
			add(path+".name", "two programs are called %q; calls could not tell them apart", p.Name)
		}
		seen[p.Name] = true
		for name := range p.Files {
			if _, twice := p.Secrets[name]; twice {
				add(under(path+".files", name), "the variable is in secrets too; it has one value")
			}
		}
	}
}
