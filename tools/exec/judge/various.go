package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// harmless judges programs that do nothing but with a few of their options.
func harmless(j *judge, s *scope, c call) stream {
	opts, operands := flags(c.rest())
	switch c.name() {
	case "sysctl":
		if hasLetter(opts, "w") || hasLetter(opts, "p") || hasFlag(opts, "--write", "--load", "--system") || strings.Contains(joinArgs(operands).text, "=") {
			j.hit(kernelTree, joinArgs(c.args).shown())
		}
	case "date", "hostname", "ldconfig", "dmesg":
		set := hasLetter(opts, "s") || abbreviated(opts, "--s") != ""
		if set || c.name() == "hostname" && len(operands) > 0 || c.name() == "ldconfig" && !hasLetter(opts, "p") || hasLetter(opts, "C") {
			j.raise(tool.Runs, "changes the system: "+joinArgs(c.args).shown())
		}
	case "enable", "hash", "bind", "complete":
		if hasLetter(opts, "f") || hasLetter(opts, "p") || hasLetter(opts, "x") || hasLetter(opts, "C") {
			j.opaque("what " + joinArgs(c.args).shown() + " makes of other commands")
		}
	}
	return stream{from: anyText, taint: s.in.taint}
}

func quiet(*judge, *scope, call) stream { return silent() }

func unknownProgram(j *judge, s *scope, c call) stream {
	j.raise(tool.Runs, "runs a program that is not known: "+c.name())
	return stream{}
}

// reader judges programs that only read the files they are given.
func reader(j *judge, s *scope, c call) stream {
	for _, a := range c.rest() {
		if name, file, ok := strings.Cut(a.text, "="); ok && strings.HasPrefix(name, "-") {
			a.text = file
		}
		if !strings.HasPrefix(a.text, "-") || a.input != nil {
			j.read(s, a)
		}
	}
	return stream{from: anyText, taint: s.in.taint | joinArgs(c.rest()).taint}
}

// grep judges grep and rg: the pattern is no file, and rg can start a program.
func grep(j *judge, s *scope, c call) stream {
	opts, operands := flags(c.rest())
	for _, o := range opts {
		if name, _, _ := strings.Cut(o.text, "="); c.name() == "rg" && (name == "--pre" || name == "--hostname-bin" || strings.HasPrefix(o.text, unknown)) {
			j.hit(helper, "rg "+o.shown())
		}
	}
	if !hasLetter(opts, "e") && !hasLetter(opts, "f") && !hasFlag(opts, "--regexp", "--file") && len(operands) > 0 {
		operands = operands[1:]
	}
	for _, f := range operands {
		j.read(s, f)
	}
	return stream{from: anyText, taint: s.in.taint}
}

func dev(j *judge, s *scope, c call) stream {
	args := c.rest()
	if len(args) == 1 && (args[0].is("--version") || args[0].is("-v") || args[0].is("-V") || args[0].is("--help")) {
		return stream{}
	}
	for _, a := range args {
		if name, text, ok := strings.Cut(a.text, "="); ok && syntaxName(name) && c.name() != "dot" {
			j.environment(name, text, true)
			j.glimpse(text)
			if containsAny(text, "$(", "`", ";", "|", "&&") {
				j.opaque(c.name() + " with " + a.shown())
			}
		}
	}
	if hasFlag(args, "--eval", "--init-command") {
		j.opaque(c.name() + " with code given inline")
		for _, a := range args {
			j.glimpse(a.text)
		}
	}
	if s.in.from != nothing && (hasFlag(args, "-f-", "-") || hasFlag(args, "/dev/stdin") || c.name() == "ed" || c.name() == "ex") && c.name() != "patch" && !among(" black ruff prettier eslint shellcheck isort clang-format gcc cc clang g++ shfmt pandoc dot hadolint yamllint ", c.name()) {
		j.opaque(c.name() + " reads what to do from a pipe")
		j.glimpse(strings.ReplaceAll(s.in.text, "\t", " "))
	}
	j.develops("runs the workspace's code: " + shorten(joinArgs(c.args).shown()))
	return stream{from: anyText, taint: s.in.taint}
}

func syntaxName(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

func gofmt(j *judge, s *scope, c call) stream {
	if hasLetter(c.rest(), "w") {
		j.raise(tool.Writes, "formats files")
	}
	return stream{}
}

// fd judges fd, which can start what it finds.
func fd(j *judge, s *scope, c call) stream {
	args := c.rest()
	for i, a := range args {
		switch {
		case a.is("-x") || a.is("-X") || a.is("--exec") || a.is("--exec-batch"):
			inner := append(slices.Clone(args[i+1:]), arg{text: unknown, wild: true})
			return j.inner(s, inner)
		case strings.HasPrefix(a.text, "-x") || strings.HasPrefix(a.text, "-X") || strings.HasPrefix(a.text, "--exec") || strings.HasPrefix(a.text, unknown):
			j.opaque("arguments of fd: " + a.shown())
		}
	}
	return reader(j, s, c)
}

func sorted(j *judge, s *scope, c call) stream {
	p := options{short: "bdfgiMhnRrVcCmsuzk:o:S:t:T:", long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse version-sort sort= check? merge stable unique zero-terminated key= output= buffer-size= field-separator= temporary-directory= compress-program= files0-from= parallel= batch-size= debug random-source= help version"}.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of sort")
	}
	for _, o := range p.values("compress-program") {
		j.hit(helper, "sort --compress-program="+o.shown())
		j.raise(tool.Runs, "sort starts "+o.shown())
	}
	for _, o := range p.values("o", "output") {
		j.write(s, o, "sort writes")
	}
	for _, f := range p.operands {
		if strings.HasPrefix(f.text, unknown) && f.wild {
			j.opaque("arguments of sort: " + f.shown())
		}
		j.read(s, f)
	}
	return stream{}
}

func uniq(j *judge, s *scope, c call) stream {
	_, operands := flags(c.rest())
	for i, f := range operands {
		if i == 1 && !strings.HasPrefix(operands[0].text, "+") {
			j.write(s, f, "uniq writes")
		} else {
			j.read(s, f)
		}
	}
	return stream{}
}

func readsOrRuns(writes string) program {
	return func(j *judge, s *scope, c call) stream {
		for _, a := range c.rest() {
			name, _, _ := strings.Cut(a.text, "=")
			if among(writes, name) {
				j.raise(tool.Writes, "edits files")
			}
			if a.is("env") || strings.Contains(a.text, "$ENV") && !strings.Contains(a.text, "$ENV.") {
				j.hit(dump, a.shown())
			}
		}
		_, operands := flags(c.rest())
		for _, f := range operands[min(1, len(operands)):] {
			j.read(s, f)
		}
		return stream{}
	}
}

// pager judges less and man, which can be told to start programs.
func pager(j *judge, s *scope, c call) stream {
	for i, a := range c.rest() {
		text := a.text
		switch {
		case strings.HasPrefix(text, "+") && strings.Contains(text, "!"), c.name() == "less" && strings.HasPrefix(text, "--cmd"), c.name() == "less" && (a.is("-k") || strings.HasPrefix(text, "-o") || strings.HasPrefix(text, "--log")):
			j.hit(helper, c.name()+" "+a.shown())
			j.raise(tool.Runs, c.name()+" starts a command")
			j.glimpse(strings.TrimLeft(text, "+!"))
		case c.name() == "man" && (strings.HasPrefix(text, "-P") || strings.HasPrefix(text, "-H") || strings.HasPrefix(text, "--html") || strings.HasPrefix(text, "--pager") || strings.HasPrefix(text, "-C") || strings.HasPrefix(text, "--preprocessor")):
			j.hit(helper, "man "+a.shown())
			for _, v := range append([]arg{a}, c.rest()[min(i+1, len(c.rest())):]...) {
				j.glimpse(strings.TrimPrefix(strings.TrimPrefix(v.text, "-P"), "--pager="))
			}
		case !strings.HasPrefix(text, "-") && c.name() != "man" && c.name() != "info":
			j.read(s, a)
		}
	}
	return stream{from: anyText, taint: s.in.taint}
}

// packer judges archives and converters: they write, and -T of zip tests with a
// command of one's choice.
func packer(j *judge, s *scope, c call) stream {
	opts, operands := flags(c.rest())
	if hasFlag(opts, "-TT", "--unzip-command", "--filter", "--rsh-command", "--to-command") || hasLetter(opts, "T") && c.name() == "zip" {
		j.hit(helper, joinArgs(c.args).shown())
		for _, a := range operands {
			j.glimpse(a.text)
		}
	}
	if c.name() == "unzip" && (hasLetter(opts, "l") || hasLetter(opts, "p") || hasLetter(opts, "t")) {
		return stream{from: anyText}
	}
	j.raise(tool.Writes, c.name()+" writes files")
	for _, f := range operands {
		switch j.place(s, f) {
		case insidePlace, globPlace, rootPlace, tempPlace, harmlessPlace, unknownPlace:
		default:
			j.copiesTo(s, []arg{f})
		}
	}
	return stream{}
}

// ruled judges programs that a rule is about.
func ruled(r rule) program {
	return func(j *judge, s *scope, c call) stream {
		args := c.rest()
		if len(args) == 1 && (args[0].is("--version") || args[0].is("--help")) {
			return stream{}
		}
		if (c.name() == "mount" || c.name() == "swapon") && len(args) == 0 {
			return stream{}
		}
		if listing(c.name(), args) {
			return stream{}
		}
		j.raise(tool.Runs, "runs "+c.name())
		j.hit(r, shorten(joinArgs(c.args).shown()))
		return stream{from: anyText, taint: fromNetwork}
	}
}

// listing reports whether a program of the package system only lists.
func listing(name string, args []arg) bool {
	if len(args) == 0 || !among(" dpkg rpm snap flatpak pacman yum zypper fdisk parted ", name) {
		return false
	}
	switch args[0].text {
	case "-l", "-L", "-s", "-S", "-qa", "-qi", "-ql", "-q", "list", "info", "search", "find", "-Q", "-Ss", "--list", "-Qi", "-Qs", "--get-selections", "--print-architecture":
		return true
	}
	return false
}

func crontab(j *judge, s *scope, c call) stream {
	if hasFlag(c.rest(), "-l") && len(c.rest()) == 1 {
		return stream{}
	}
	j.raise(tool.Runs, "runs something later")
	j.hit(persist, joinArgs(c.args).shown())
	return stream{}
}

// killer judges ending processes: one asks, all are refused.
func killer(j *judge, s *scope, c call) stream {
	opts, operands := flags(c.rest())
	if hasFlag(opts, "-l", "-L", "--list", "-0") && c.name() == "kill" {
		return silent()
	}
	if c.name() == "fuser" && !hasLetter(opts, "k") {
		return stream{}
	}
	for _, a := range c.rest() {
		if c.name() == "kill" && (a.is("-1") && (len(operands) == 0 || a.text != c.rest()[0].text) || a.is("0") || a.is("1")) || c.name() == "killall5" {
			j.hit(killAll, joinArgs(c.args).shown())
		}
	}
	if c.name() == "pkill" || c.name() == "killall" {
		for _, a := range operands {
			if a.is(".") || a.is(".*") || a.is("") || a.is("-v") {
				j.hit(killAll, joinArgs(c.args).shown())
			}
		}
	}
	j.hit(kill, joinArgs(c.args).shown())
	return silent()
}

// packageRunner judges npm, pnpm and yarn: exec and dlx fetch and run.
func packageRunner(other program) program {
	return func(j *judge, s *scope, c call) stream {
		args := c.rest()
		if len(args) > 0 && (args[0].is("exec") || args[0].is("x") || args[0].is("dlx") || args[0].is("create")) {
			return remoteRunner("")(j, s, call{args: args})
		}
		return other(j, s, c)
	}
}

// remoteRunner judges npx and its like: what is not installed is fetched.
func remoteRunner(string) program {
	return func(j *judge, s *scope, c call) stream {
		j.always = false
		args := c.rest()
		for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
			if args[0].is("-c") || args[0].is("--call") {
				if len(args) > 1 {
					j.runText(s, args[1])
				}
			}
			if !args[0].is("--no-install") && !args[0].is("--") && !args[0].is("--no") {
				j.hit(install, joinArgs(c.args).shown())
			}
			args = args[1:]
		}
		if len(args) == 0 {
			return stream{}
		}
		name := args[0].text
		if args[0].static() && j.programs[name] != nil && !strings.ContainsAny(name, "@/:") {
			return j.inner(s, args) // a tool that projects have as a dependency
		}
		j.hit(install, joinArgs(c.args).shown())
		if len(args) > 0 && j.programs[path.Base(name)] != nil {
			j.inner(s, args)
		}
		return stream{}
	}
}
