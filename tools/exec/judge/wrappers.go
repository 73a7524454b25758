package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// wrap judges a program that starts the command that follows its options and
// so many operands.
func wrap(o options, operands int) program {
	o.first = true
	return func(j *judge, s *scope, c call) stream {
		j.always = false
		p := o.parse(c.rest())
		if p.unknown != "" {
			j.opaque("option " + p.unknown + " of " + c.name())
			j.inner(s, p.operands)
			return stream{}
		}
		if len(p.operands) <= operands {
			return stream{}
		}
		return j.inner(s, p.operands[operands:])
	}
}

// inner judges a command in the arguments of another.
func (j *judge) inner(s *scope, args []arg) stream {
	j.always = false
	if len(args) == 0 {
		return stream{}
	}
	return j.call(s, call{args: args, plain: true})
}

// textOrWords judges what programs such as watch make of their arguments: one
// text for a shell.
func textOrWords(o options, operands int) program {
	o.first = true
	return func(j *judge, s *scope, c call) stream {
		p := o.parse(c.rest())
		if p.unknown != "" {
			j.opaque("option " + p.unknown + " of " + c.name())
		}
		if len(p.operands) > operands {
			j.runText(s, joinArgs(p.operands[operands:]))
		}
		return stream{}
	}
}

// niced judges nice, which takes -10 for -n 10.
func niced(j *judge, s *scope, c call) stream {
	args := c.rest()
	if len(args) > 0 && len(args[0].text) > 1 && strings.Trim(args[0].text, "-+0123456789") == "" {
		args = args[1:]
	}
	return wrap(options{short: "n:", long: "adjustment= help version"}, 0)(j, s, call{args: append([]arg{c.args[0]}, args...)})
}

// environmentOf judges env.
func environmentOf(j *judge, s *scope, c call) stream {
	j.always = false
	o := options{short: "i0u:C:S:v", long: "ignore-environment null unset= chdir= split-string= block-signal? default-signal? ignore-signal? debug list-signal-handling argv0= help version", first: true}
	p := o.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of env")
	}
	inner := s.clone()
	for _, dir := range p.values("C", "chdir") {
		inner.cd(dir)
	}
	args := p.operands
	if split := p.values("S", "split-string"); len(split) > 0 {
		again := []arg{c.args[0]}
		for _, text := range split { // in the words of one there may be options, and then comes the next
			if !text.static() {
				j.opaque("env -S " + text.shown())
				return stream{}
			}
			for _, w := range splitWords(text.text) {
				again = append(again, literal(w))
			}
		}
		return environmentOf(j, inner, call{args: append(again, args...)})
	}
	if len(args) > 0 && args[0].is("-") {
		args = args[1:]
	}
	for len(args) > 0 {
		name, text, ok := strings.Cut(args[0].text, "=")
		if !ok {
			break
		}
		j.environment(name, text, true)
		inner.set(name, known(text))
		args = args[1:]
	}
	if len(args) == 0 {
		if !p.has("help", "version") {
			j.dumps("env")
		}
		return stream{}
	}
	return j.inner(inner, args)
}

// splitWords splits as env -S does: blanks, quotes and backslashes.
func splitWords(text string) []string {
	var all []string
	var cur strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case c == '\\' && i+1 < len(text) && quote != '\'':
			i++
			if text[i] == '_' || text[i] == 't' || text[i] == 'n' {
				cur.WriteByte(' ')
			} else {
				cur.WriteByte(text[i])
			}
			open = true
		case quote == 0 && strings.IndexByte(" \t\n\r", c) >= 0:
			if open {
				all = append(all, cur.String())
			}
			cur.Reset()
			open = false
		default:
			cur.WriteByte(c)
			open = true
		}
	}
	if open {
		all = append(all, cur.String())
	}
	return all
}

// asOther judges sudo and its like: the rule, and the command behind it.
func asOther(o options, operands int) program {
	inner := wrap(o, operands)
	return func(j *judge, s *scope, c call) stream {
		j.hit(otherUser, c.name())
		args := c.rest()
		for len(args) > 1 && args[0].static() && strings.Contains(args[0].text, "=") && args[0].text[0] != '-' {
			args = args[1:]
		}
		return inner(j, s, call{args: append([]arg{c.args[0]}, args...)})
	}
}

// su judges su -c.
func su(j *judge, s *scope, c call) stream {
	j.hit(otherUser, c.name())
	p := options{short: "c:lmps:g:G:w:fPT", long: "command= login shell= preserve-environment group= pty"}.parse(c.rest())
	for _, text := range p.values("c", "command") {
		j.runText(s, text)
	}
	return stream{}
}

// moreRights judges unshare and nsenter.
func moreRights(o options, operands int) program {
	inner := wrap(o, operands)
	return func(j *judge, s *scope, c call) stream {
		j.hit(rights, c.name())
		return inner(j, s, c)
	}
}

// applets judges busybox and toybox.
func applets(j *judge, s *scope, c call) stream {
	args := c.rest()
	if len(args) == 0 || args[0].is("--list") || args[0].is("--help") {
		return stream{}
	}
	return j.inner(s, args)
}

// commandBuiltin judges command and builtin.
func commandBuiltin(j *judge, s *scope, c call) stream {
	if hasLetter(c.rest()[:min(1, len(c.rest()))], "v") || hasLetter(c.rest()[:min(1, len(c.rest()))], "V") {
		return stream{}
	}
	return wrap(options{short: "p"}, 0)(j, s, c)
}

// execBuiltin judges exec, which without a command only redirects.
func execBuiltin(j *judge, s *scope, c call) stream {
	return wrap(options{short: "cla:"}, 0)(j, s, c)
}

// flock judges flock FILE command and flock FILE -c text.
func flock(j *judge, s *scope, c call) stream {
	p := options{short: "sxenuFow:E:", long: "shared exclusive nonblock nb unlock no-fork close wait= timeout= conflict-exit-code= verbose", first: true}.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of flock")
	}
	if len(p.operands) > 2 && (p.operands[1].is("-c") || p.operands[1].is("--command")) {
		return j.runText(s, p.operands[2])
	}
	if len(p.operands) > 0 {
		j.write(s, p.operands[0], "locks")
	}
	return j.inner(s, p.operands[min(1, len(p.operands)):])
}

// script judges the program that records a terminal.
func script(j *judge, s *scope, c call) stream {
	p := options{short: "aefqc:E:I:O:B:T:m:o:t", long: "append command= return flush force quiet log-in= log-out= log-io= log-timing= output-limit= timing? echo= logging-format="}.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of script")
	}
	for _, text := range p.values("c", "command") {
		j.runText(s, text)
	}
	for _, file := range p.operands[:min(1, len(p.operands))] {
		j.write(s, file, "records to")
	}
	if len(p.operands) > 1 {
		j.inner(s, p.operands[1:])
	} else if s.in.from != nothing && len(p.values("c", "command")) == 0 {
		j.runStream(s, s.in)
	}
	return stream{}
}

// xargs judges the command that gets its arguments from stdin.
func xargs(j *judge, s *scope, c call) stream {
	j.always = false
	p := options{short: "0rtpxoa:d:E:I:L:n:P:s:eil", long: "null no-run-if-empty verbose interactive exit open-tty arg-file= delimiter= eof? replace? max-lines? max-args= max-procs= max-chars= show-limits process-slot-var= help version", first: true}.parse(c.rest())
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of xargs")
	}
	args := p.operands
	if len(args) == 0 {
		args = []arg{literal("echo")}
	}
	var more []arg
	if s.in.from == exactly && !p.has("d", "delimiter", "0", "null", "a", "arg-file") && len(s.in.text) < 4096 {
		for _, w := range splitWords(s.in.text) {
			more = append(more, literal(w))
		}
	} else {
		more = []arg{{text: unknown, wild: true, taint: s.in.taint}}
	}
	inner := s.clone()
	inner.in = stream{}
	if hole := p.values("I", "replace"); len(hole) > 0 || p.has("i") {
		mark := "{}"
		if len(hole) > 0 && hole[0].text != "" {
			mark = hole[0].text
		}
		return j.inner(inner, fillAll(args, mark, more))
	}
	return j.inner(inner, append(args[:len(args):len(args)], more...))
}

// fillAll puts what is read in the place of a mark.
func fillAll(args []arg, mark string, more []arg) []arg {
	with := joinArgs(more)
	filled := make([]arg, len(args))
	for i, a := range args {
		if strings.Contains(a.text, mark) {
			a.text = strings.ReplaceAll(a.text, mark, with.text)
			a.taint |= with.taint
		}
		filled[i] = a
	}
	return filled
}

// parallel judges GNU parallel, which gives a shell what it puts together.
func parallel(j *judge, s *scope, c call) stream {
	args := c.rest()
	var words, inputs []arg
	for i, a := range args {
		if strings.HasPrefix(a.text, ":::") {
			inputs = args[i:]
			break
		}
		words = append(words, a)
	}
	p := options{short: "j:k0n:N:I:X", long: "jobs= keep-order null max-args= halt= bar progress joblog= dry-run line-buffer ungroup tag will-cite no-notice eta", first: true}.parse(words)
	if p.unknown != "" {
		j.opaque("option " + p.unknown + " of parallel")
	}
	if len(p.operands) == 0 {
		for _, a := range inputs {
			if !strings.HasPrefix(a.text, ":::") {
				j.runText(s, a)
			}
		}
		if len(inputs) == 0 {
			j.runStream(s, s.in)
		}
		return stream{}
	}
	more := []arg{{text: unknown, wild: true, taint: s.in.taint}}
	if len(inputs) > 0 {
		more = nil
		for _, a := range inputs {
			if !strings.HasPrefix(a.text, ":::") {
				more = append(more, a)
			}
		}
	}
	for _, m := range more {
		filled := fillAll(p.operands, "{}", []arg{m})
		if joinArgs(filled).text == joinArgs(p.operands).text {
			filled = append(filled, m)
		}
		inner := s.clone()
		inner.in = stream{}
		if text := joinArgs(filled); text.static() {
			j.runText(inner, text)
		} else {
			j.inner(inner, filled)
		}
	}
	return stream{}
}

// behindSubcommand judges programs such as poetry run and direnv exec, whose
// command follows a word.
func behindSubcommand(word string, operands int, other program) program {
	return func(j *judge, s *scope, c call) stream {
		args := c.rest()
		if len(args) > 0 && args[0].is(word) {
			rest := args[1:]
			for len(rest) > 0 && rest[0].static() && strings.HasPrefix(rest[0].text, "-") {
				if !rest[0].is("--") {
					j.opaque("option " + rest[0].shown() + " of " + c.name())
				}
				rest = rest[1:]
			}
			j.develops("runs " + c.name() + " " + word)
			return j.inner(s, rest[min(operands, len(rest)):])
		}
		return other(j, s, c)
	}
}

// aliasBuiltin keeps an alias: plain POSIX shells use it on the next line.
func aliasBuiltin(j *judge, s *scope, c call) stream {
	for _, a := range c.rest() {
		if name, text, ok := strings.Cut(a.text, "="); ok {
			j.always = false
			if strings.Contains(text, unknown) {
				j.opaque("the alias " + name)
			}
			s.aliases[name] = text
		}
	}
	return silent()
}

// trap judges commands that run later.
func trap(j *judge, s *scope, c call) stream {
	if _, args := flags(c.rest()); len(args) > 1 && args[0].text != "" {
		j.runText(s, args[0])
	}
	return silent()
}

// terminalUser judges tmux and screen.
func terminalUser(j *judge, s *scope, c call) stream {
	j.raise(tool.Runs, "types into terminals: "+c.name())
	if _, args := flags(c.rest()); len(args) > 0 {
		j.glimpse(args[len(args)-1].text)
	}
	return stream{}
}
