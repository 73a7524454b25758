package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// chmod judges chmod, chown and chgrp.
func chmod(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	var operands []arg
	for _, a := range c.rest() {
		if !a.starts("-") || !a.starts("--") && strings.Trim(a.text, "-RcfvhHLPd") != "" {
			operands = append(operands, a) // a mode may begin with a dash
		}
	}
	if len(operands) == 0 {
		return silent()
	}
	mode, files := operands[0], c.name() == "chmod"
	if files && (strings.Contains(mode.text, "s") || len(mode.text) == 4 && mode.text[0] > '0' && mode.text[0] <= '7') {
		j.hit("rights", c.name()+" "+mode.shown())
	}
	if !mode.static() {
		j.opaque("which mode it sets")
	}
	for _, t := range operands[1:] {
		what := "changes rights of " + t.shown()
		switch j.locate(s, t) {
		case insidePath, globPath, rootPath:
			j.raise(tool.Writes, what)
		case tempPath:
			j.raise(tool.Writes, what)
			if !j.req.Isolated {
				j.raise(tool.Destroys, what+", outside the workspace")
			}
			if files && strings.ContainsAny(mode.text, "x1357") && !j.onlyWroteKnown(s, t) {
				j.hit("program_in_temp", t.shown())
			}
		case topPath, systemPath, devicePath, kernelPath, environPath, startPath, enginePath:
			j.hit("system_path", c.name()+" "+t.shown())
		case unknownPath:
			j.raise(tool.Destroys, "cannot be known before it runs: where it changes rights ("+t.shown()+")")
		default:
			j.raise(tool.Destroys, what+", outside the workspace")
		}
	}
	return silent()
}

func dd(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	for _, a := range c.rest() {
		name, file, _ := strings.Cut(a.text, "=")
		target := a.with(file)
		switch {
		case name == "if":
			j.read(s, target)
		case name == "of":
			j.write(s, target, "writes over")
			if j.locate(s, target) != harmlessPath {
				j.raise(tool.Destroys, "writes over "+target.shown())
			}
		case !isKnown(name):
			j.raise(tool.Destroys, "cannot be known before it runs: what dd does")
		}
	}
	return stream{}
}

// find judges find: its actions, with the found files in place of {}.
func find(j *judge, s *scope, _ *program, c call, in arguments) stream {
	args := c.rest()
	var starts []arg
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if mayBeOption(a) {
			j.opaque("arguments of find: " + a.shown())
			continue
		}
		if a.any("-H", "-L", "-P") {
			continue
		}
		if a.text == "" || strings.ContainsAny(a.text[:1], "-(!") {
			break
		}
		starts = append(starts, a)
		j.read(s, a)
	}
	if len(starts) == 0 {
		starts = []arg{literal(".")}
	}
	narrow := in.hasFlag("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-mtime",
		"-mmin", "-size", "-empty", "-ctime", "-maxdepth", "-user", "-lname")
	for ; i < len(args); i++ {
		switch a := args[i]; a.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && !args[end].is(";") && !(args[end].is("+") && args[end-1].is("{}")) {
				end++
			}
			j.findExec(s, args[i+1:min(end, len(args))], starts, narrow)
			i = end
		case "-delete":
			j.always = false
			for _, start := range starts {
				if narrow && j.locate(s, start) == rootPath {
					j.raise(tool.Destroys, "removes what it finds in "+start.shown())
				} else {
					j.removes(s, start, true)
				}
			}
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if i+1 < len(args) {
				j.write(s, args[i+1], "writes to")
			}
		case "-name", "-path", "-iname", "-type", "-regex", "-newer", "-mtime", "-size", "-maxdepth", "-mindepth",
			"-perm", "-user":
			i++ // its value, of any form
		default:
			if mayBeOption(a) {
				j.opaque("arguments of find: " + a.shown())
			}
		}
	}
	return unknownStream(0)
}

// mayBeOption reports whether the beginning of an argument is not known.
func mayBeOption(a arg) bool { return a.text != "" && isMark([]rune(a.text)[0]) }

// findExec judges the command that find starts for found files.
func (j *judge) findExec(s *scope, args, starts []arg, narrow bool) {
	if len(args) == 0 {
		return
	}
	for _, start := range starts {
		found := start.with(strings.TrimSuffix(start.text, "/") + "/found-by-name")
		if !narrow {
			found = start
			if j.locate(s, start) == rootPath {
				found.text, found.glob = strings.TrimSuffix(start.text, "/")+"/*", true
			}
		}
		j.inner(s.clone(), replaceIn(args, "{}", found))
	}
}

// fd judges fd. It can start a command for found files.
func fd(j *judge, s *scope, _ *program, c call, _ arguments) stream {
	args := c.rest()
	for i, a := range args {
		switch {
		case a.any("-x", "-X", "--exec", "--exec-batch"):
			return j.inner(s, append(args[i+1:len(args):len(args)], arg{text: unknown, wild: true}))
		case a.starts("-x"), a.starts("-X"), a.starts("--exec"), mayBeOption(a):
			j.opaque("arguments of fd: " + a.shown())
		}
		if _, file, ok := strings.Cut(a.text, "="); ok {
			a.text = file
		}
		if !a.starts("-") {
			j.read(s, a)
		}
	}
	return unknownStream(s.in.taint())
}

// sed judges the script of sed. The script can write files and start commands.
func sed(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	scripts, files := in.values("-e", "--expression"), in.operands
	scriptFiles := in.values("-f", "--file")
	if len(scripts) == 0 && len(scriptFiles) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, f := range scriptFiles {
		j.runsCode(s, f)
	}
	for _, text := range scripts {
		switch {
		case sedRuns(text.text):
			j.always = false
			j.hit("helper_program", "sed "+text.shown())
			j.raise(tool.Runs, "sed starts commands")
			j.glimpse(strings.TrimLeft(text.text, "0123456789$,/ e"))
		case mayBeOption(text):
			j.opaque("the script of sed: " + text.shown())
		}
	}
	for _, f := range files {
		if in.hasFlag("-i", "--in-place") {
			j.write(s, f, "edits")
			j.raise(tool.Writes, "edits "+f.shown())
		} else {
			j.read(s, f)
		}
	}
	return stream{}
}

// sedRuns reports whether a script may start commands or write files. In doubt
// it reports true.
func sedRuns(text string) bool {
	for command := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";\n{}", r) }) {
		rest := strings.TrimLeft(strings.TrimSpace(command), "0123456789$,!~+ ")
		if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "\\") { // an address
			if end := strings.LastIndexByte(rest, '/'); end > 0 {
				rest = strings.TrimLeft(rest[end+1:], "0123456789$,!I ")
			}
		}
		if strings.HasPrefix(rest, "e") || strings.HasPrefix(rest, "w ") || strings.HasPrefix(rest, "W ") ||
			strings.HasPrefix(rest, "r ") && strings.Contains(rest, "/proc/") {
			return true
		}
		if len(rest) > 2 && (rest[0] == 's' || rest[0] == 'y') {
			end := strings.LastIndexByte(rest, rest[1])
			if flags, _, _ := strings.Cut(rest[end+1:], " "); end > 1 && strings.ContainsAny(flags, "ew") {
				return true
			}
		}
	}
	return false
}

// awk judges the program of awk: system, pipes and redirections.
func awk(j *judge, s *scope, _ *program, _ call, in arguments) stream {
	codes, files := in.values("--source"), in.operands
	codeFiles := in.values("-f", "--file", "-E", "--exec", "-l", "--load", "-i", "--include")
	for _, f := range codeFiles {
		j.runsCode(s, f)
	}
	if len(codeFiles) == 0 && len(codes) == 0 && len(files) > 0 {
		codes, files = files[:1], files[1:]
	}
	for _, code := range codes {
		text := code.text
		if strings.Contains(text, "/inet") {
			j.hit("reverse_shell", "awk "+code.shown())
		}
		switch {
		case containsAny(text, "/inet", "system", "getline", "|&", "@load", "@include"),
			strings.Contains(strings.ReplaceAll(text, "||", ""), "|"), awkWrites(text):
			j.inlineCode("awk", code)
		case mayBeOption(code):
			j.opaque("the program of awk: " + code.shown())
		}
	}
	for _, f := range files {
		if !strings.Contains(f.text, "=") {
			j.read(s, f)
		}
	}
	return stream{}
}

// awkWrites reports whether a program writes to files: print > "file".
func awkWrites(text string) bool {
	_, after, ok := strings.Cut(text, "print")
	for ok {
		statement, _, _ := strings.Cut(after, ";")
		if at := strings.IndexByte(statement, '>'); at >= 0 && strings.ContainsAny(statement[at:], "\"$") &&
			!strings.Contains(statement, "\"/dev/stderr\"") {
			return true
		}
		_, after, ok = strings.Cut(after, "print")
	}
	return false
}
