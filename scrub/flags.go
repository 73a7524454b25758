package scrub

import "strings"

// flagTriggers returns the triggers of short flags, which take a password with
// some commands only.
func flagTriggers() []trigger {
	var all []trigger
	for _, f := range []struct {
		flag     string
		glued    bool // the value may follow without a blank
		pair     bool // the value is user:password
		commands []string
	}{
		{" -p", true, false, []string{"mysql", "mariadb", "sshpass"}},
		{" -p ", false, false, []string{"sshpass", "docker login", "podman login", "helm registry login",
			"buildah login", "skopeo login"}},
		{" -a ", false, false, []string{"redis-cli"}},
		{" -u ", false, true, []string{"curl"}},
		{" -w ", false, false, []string{"ldapsearch", "ldapadd", "ldapmodify"}},
		{"--user", false, true, []string{"curl"}},
		{"--proxy-user", false, true, []string{"curl"}},
	} {
		find := flagFinder(f.flag, f.glued, f.pair, f.commands)
		if len(f.flag) < 4 {
			all = append(all, onPrefix(find, f.flag, "?")...)
			all = append(all, on(find, 0, f.flag+"'", f.flag+`"`, f.flag+`\`)...)
			continue
		}
		back := rarest(f.flag)
		all = append(all, on(find, back, f.flag[back:back+4])...)
	}
	return all
}

func flagFinder(flag string, glued, pair bool, commands []string) finder {
	return func(t *text, at int) (span, bool) {
		if !t.has(at, flag) || !t.runs(at, commands) {
			return span{}, false
		}
		i := at + len(flag)
		if b := t.at(i); glued && white.has(b) || !glued && flag[len(flag)-1] != ' ' && b != '=' && b != ' ' {
			return span{}, false // -p alone asks for the password; --username is another flag
		}
		v, ok := t.opening(valueSite{}, t.run(i, blank|equal))
		if !ok {
			return span{}, false
		}
		return t.flagValue(v, pair)
	}
}

// flagValue hides the value of a flag, or the password of user:password.
func (t *text) flagValue(v valueSite, pair bool) (span, bool) {
	from, to := v.from, v.end(t, true)
	value := t.s[from:to]
	if pair {
		i := strings.IndexByte(value, ':')
		if i < 0 {
			return span{}, false
		}
		from += i + 1
		value = value[i+1:]
	}
	ok := len(value) >= 3 && !placeholder(value) && value[0] != '-'
	return span{from: from, to: to, kind: "password", tail: ^(white | quote)}, ok
}

// runs reports whether one of the commands is before at on its line.
func (t *text) runs(at int, commands []string) bool {
	line := t.line(at)
	for _, c := range commands {
		if strings.Contains(line, c) {
			return true
		}
	}
	return false
}
