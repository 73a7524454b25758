package judge

import "strings"

// Builtins of the shell that change what the rest of the text means.

func readVars(j *judge, s *scope, c call) stream {
	for _, a := range c.rest() {
		if syntaxName(a.text) {
			s.set(a.text, value{texts: []string{unknown}, taint: s.in.taint})
		}
	}
	s.set("REPLY", value{texts: []string{unknown}, taint: s.in.taint})
	return silent()
}

func unset(j *judge, s *scope, c call) stream {
	for _, a := range c.rest() {
		if !strings.HasPrefix(a.text, "-") {
			s.set(a.text, known(""))
		}
	}
	return silent()
}

func changeDir(j *judge, s *scope, c call) stream {
	args := c.rest()
	for len(args) > 0 && (args[0].is("-P") || args[0].is("-L") || args[0].is("--") || args[0].is("-e")) {
		args = args[1:]
	}
	to := literal(s.get("HOME").first())
	if len(args) > 0 {
		to = args[0]
	}
	s.cd(to)
	j.always = false // what follows is elsewhere
	return silent()
}

func popDir(j *judge, s *scope, c call) stream {
	s.cd(literal("-"))
	return silent()
}

// declared judges export and its like where they were not seen as such.
func declared(j *judge, s *scope, c call) stream {
	for _, a := range c.rest() {
		name, text, ok := strings.Cut(a.text, "=")
		if strings.Contains(name, unknown) {
			j.opaque(c.name() + " " + a.shown())
		} else if ok {
			j.environment(name, text, c.name() == "export")
			s.set(name, known(text))
		}
	}
	return silent()
}

func setBuiltin(j *judge, s *scope, c call) stream {
	args := c.rest()
	if len(args) == 0 {
		j.dumps("set")
		return stream{}
	}
	for i, a := range args {
		if a.is("--") || !strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "+") && (i == 0 || !strings.HasSuffix(args[i-1].text, "o")) {
			rest := args[i:]
			if a.is("--") {
				rest = args[i+1:]
			}
			s.params = nil
			for _, r := range rest {
				s.params = append(s.params, r.text)
			}
			break
		}
	}
	return silent()
}

func printenv(j *judge, s *scope, c call) stream {
	opts, names := flags(c.rest())
	if len(names) == 0 && !hasFlag(opts, "--help", "--version") {
		j.dumps("printenv")
	}
	for _, n := range names {
		upper := strings.ToUpper(n.text)
		if containsAny(upper, "TOKEN", "SECRET", "PASSWORD", "KEY", "DSN", unknown) {
			j.dumps(n.shown())
		}
	}
	return stream{}
}

func compgen(j *judge, s *scope, c call) stream {
	if hasLetter(c.rest(), "e") || hasLetter(c.rest(), "v") {
		j.dumps("compgen")
	}
	if hasLetter(c.rest(), "C") || hasLetter(c.rest(), "F") {
		j.opaque("compgen that starts a command")
	}
	return stream{}
}

// dumps judges what shows the environment. Behind walls that is what we put
// together, and no secret is in it.
func (j *judge) dumps(what string) {
	if _, chosen := j.rules.Groups[dump.group]; chosen || !j.req.Sealed {
		j.hit(dump, what)
	}
}
