package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// actOnNetwork applies the actions of the table that concern other machines.
func (j *judge) actOnNetwork(s *scope, c call, in arguments, verb string, a arg) {
	switch verb {
	case "download":
		if !a.any("-", "/dev/stdout") || c.name() == "curl" {
			a.text = strings.TrimPrefix(a.text, "=")
			j.write(s, a, "saves to")
			j.wrote(s, a, unknownStream(fromNetwork))
		}
	case "url": // of wget; wget saves the file under the last part of the URL
		if at := strings.LastIndexByte(a.text, '/'); at > 0 && strings.Contains(a.text, "://") && a.text[at+1:] != "" {
			j.wrote(s, literal(a.text[at+1:]), unknownStream(fromNetwork))
		}
	case "address":
		for _, a := range c.rest() {
			text := strings.ToLower(a.text)
			if containsAny(text, slices.Collect(maps.Keys(j.lists["addresses of metadata"]))...) {
				j.hit("metadata", a.shown())
			}
			if strings.HasPrefix(text, "file:") {
				j.raise(tool.Runs, "reads a file by its address: "+a.shown())
			}
		}
	case "mount":
		j.mounts(s, a.text)
	case "method":
		if m := strings.ToUpper(a.text); m != "GET" && m != "HEAD" && m != "OPTIONS" {
			j.sends(a.shown(), c)
		}
	case "send":
		j.sends(c.shown(), c)
		if _, file, ok := strings.Cut(a.text, "@"); ok {
			j.read(s, a.with(file))
		} else if c.name() == "curl" && slices.Contains(in.values("-T"), a) {
			j.read(s, a)
		}
	default:
		panic("judge: no action " + verb)
	}
}

// sends records that data leaves the machine. A sandbox reaches at a local
// address only servers of the same caller.
func (j *judge) sends(how string, c call) {
	if j.req.Isolated && onlyLocal(c.rest()) {
		j.raise(tool.Writes, "sends data: "+how)
		return
	}
	j.hit("upload", how)
}

// onlyLocal reports whether all addresses in the arguments are of this machine.
func onlyLocal(args []arg) bool {
	local := false
	for _, a := range args {
		text := strings.TrimPrefix(strings.TrimPrefix(a.text, "http://"), "https://")
		host, _, _ := strings.Cut(text, "/")
		host, _, _ = strings.Cut(host, ":")
		switch {
		case host == "localhost" || host == "127.0.0.1":
			local = true
		case strings.Contains(a.text, "://"),
			strings.Contains(host, ".") && !strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " {\"@"):
			return false
		}
	}
	return local
}

// mounts judges the files of this machine that a container gets.
func (j *judge) mounts(s *scope, text string) {
	source, _, _ := strings.Cut(text, ":")
	for field := range strings.SplitSeq(text, ",") {
		if v, ok := strings.CutPrefix(field, "source="); ok {
			source = v
		} else if v, ok := strings.CutPrefix(field, "src="); ok {
			source = v
		}
	}
	if !strings.HasPrefix(source, "/") && !strings.HasPrefix(source, ".") {
		return // a volume, or not known: a person is asked in any case
	}
	switch j.locate(s, literal(source)) {
	case topPath, systemPath, kernelPath, environPath, devicePath, secretPath, startPath:
		j.hit("host_rights", text)
	case enginePath:
		j.hit("engine_socket", text)
	}
}

// gitSetting judges one name=value of git's configuration. used is true when it
// counts for the running command.
func (j *judge) gitSetting(setting string, used bool) {
	name, value, _ := strings.Cut(setting, "=")
	name = strings.ToLower(name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	command, shell := strings.CutPrefix(value, "!")
	switch {
	case !isKnown(name):
		j.opaque("which setting of git it changes")
	case strings.HasPrefix(name, "alias.") && !shell:
		if used {
			j.raise(tool.Runs, "git with an alias")
		}
	case strings.HasPrefix(name, "alias."), j.inList("git settings with a program", name),
		j.inList("last parts of git settings with a program", last):
		switch value {
		case "cat", "true", "", "less", "false", ":", "/dev/null":
			return
		}
		j.hit("helper_program", "git -c "+setting)
		j.glimpse(command)
	}
}

// gitConfig judges git config. It may set programs that start later.
func gitConfig(j *judge, _ *scope, _ *program, _ call, in arguments) stream {
	operands := in.operands
	if in.hasFlag("--get", "--list", "--get-all", "--get-regexp", "--show-origin", "--show-scope", "--name-only") ||
		in.matches("-l") || len(operands) == 1 || len(operands) > 0 &&
		operands[0].any("get", "list") {
		return stream{}
	}
	if len(operands) > 0 && operands[0].is("set") {
		operands = operands[1:]
	}
	if in.matches("--global", "--system", "--file", "-f", "-e", "--edit") {
		j.raise(tool.Runs, "changes settings of git outside the repository")
	}
	j.raise(tool.Writes, "changes settings of git")
	if len(operands) > 1 {
		j.gitSetting(operands[0].text+"="+operands[1].text, false)
		if strings.HasPrefix(operands[1].text, "!") {
			j.raise(tool.Runs, "sets an alias that starts a command")
		}
	}
	return stream{}
}

// kill judges ending processes: a person is asked about one, and all are refused.
func kill(j *judge, _ *scope, _ *program, c call, in arguments) stream {
	name := c.name()
	switch {
	case name == "kill" && in.hasFlag("-l", "-L", "--list", "-0"):
		return silent()
	case name == "fuser" && !in.matches("-k"):
		return stream{}
	}
	all := name == "killall5"
	for i, a := range c.rest() {
		all = all || name == "kill" && (a.any("0", "1") || a.is("-1") && (len(in.operands) == 0 || i > 0)) ||
			name != "kill" && a.any(".", ".*", "")
	}
	if all {
		j.hit("kill_all", c.shown())
	}
	j.hit("kill", c.shown())
	return silent()
}
