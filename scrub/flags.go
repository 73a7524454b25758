package scrub

import "strings"

// flagTriggers returns the triggers of short flags. They take a password with some commands
// only.
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
		i := strings.IndexByte(value+":", ':')
		if i == len(value) && t.at(to) != ':' {
			return span{}, false
		}
		if value = value[min(i+1, len(value)):]; value == "" && i >= 16 { // a key without a password, as Stripe's
			return span{from: from, to: from + i, kind: "api_key", tail: ^(white | quote)},
				!placeholder(t.s[from : from+i])
		}
		if onlyNameWords(value) || value != "" && strings.Trim(value, value[:1]) == "" { // user:password in documentation
			return span{}, false
		}
		from += i + 1
	}
	ok := len(value) >= 3 && !placeholder(value) && value[0] != '-'
	return span{from: from, to: to, kind: "password", tail: ^(white | quote)}, ok
}

// runs reports whether one of the commands is before at on its line.
func (t *text) runs(at int, commands []string) bool {
	line := t.line(at)
	for n := 0; n < 8; n++ { // lines that end with a backslash go on
		from := at - len(line)
		if from < 2 || t.s[from-1] != '\n' || t.s[from-2] != '\\' {
			break
		}
		line = t.line(from-2) + "\\\n" + line
	}
	for _, c := range commands {
		if strings.Contains(line, c) {
			return true
		}
	}
	return false
}
