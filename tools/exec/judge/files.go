package judge

import (
	"path"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// remove judges rm, rmdir, unlink, shred and their like.
func remove(j *judge, s *scope, c call) stream {
	opts, targets := flags(c.rest())
	for _, o := range opts {
		if o.is("--no-preserve-root") {
			j.hit(removeTree, o.text)
		}
	}
	tree := hasLetter(opts, "r") || hasLetter(opts, "R") || strings.HasPrefix(abbreviated(opts, "--r"), "--r")
	if c.name() == "rmdir" || c.name() == "del" {
		tree = false
	}
	for _, o := range opts {
		tree = tree || !o.static()
	}
	for _, t := range targets {
		j.removes(s, t, tree)
	}
	if len(targets) == 0 && len(opts) > 0 {
		j.raise(tool.Reads, "")
	}
	return silent()
}

// abbreviated finds an option by its beginning.
func abbreviated(opts []arg, prefix string) string {
	for _, o := range opts {
		if strings.HasPrefix(o.text, prefix) {
			return o.text
		}
	}
	return ""
}

// removes judges removing one target, with all below it or not.
func (j *judge) removes(s *scope, t arg, tree bool) {
	what := "removes " + t.shown() + " for good"
	switch where := j.place(s, t); where {
	case insidePlace:
		if j.req.Sealed && generated(t.shown()) {
			j.raise(tool.Writes, what)
		} else {
			j.raise(tool.Destroys, what)
		}
	case globPlace, rootPlace, abovePlace:
		if tree {
			j.hit(removeTree, t.shown())
		}
		j.raise(tool.Destroys, what)
	case tempPlace:
		if j.req.Sealed {
			j.raise(tool.Writes, what)
		} else {
			j.raise(tool.Destroys, what)
		}
	case topPlace, systemPlace, devicePlace, kernelPlace, environPlace, enginePlace:
		j.raise(tool.Destroys, what)
		j.hit(removeTree, t.shown())
	case ourPlace:
		j.raise(tool.Destroys, what)
		j.hit(ourselves, t.shown())
	case unknownPlace:
		j.raise(tool.Destroys, "cannot be told before it runs: what it removes ("+t.shown()+")")
		if tree {
			j.hit(removeAny, t.shown())
		}
	case harmlessPlace:
		j.raise(tool.Destroys, what)
	default:
		j.raise(tool.Destroys, what)
		if tree {
			j.hit(removeTree, t.shown()+" is outside the workspace")
		}
	}
}

// generated reports whether a path names what tools make and can make again.
func generated(name string) bool {
	switch base := path.Base(strings.TrimSuffix(name, "/")); base {
	case "node_modules", "dist", "build", "out", "target", ".venv", "venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox",
		".next", ".nuxt", ".turbo", ".parcel-cache", "coverage", ".coverage", ".nyc_output", ".gradle", ".cache", ".eslintcache":
		return true
	default:
		return strings.HasSuffix(base, ".egg-info") || strings.HasSuffix(base, ".pyc") || strings.HasSuffix(base, ".o")
	}
}

// move judges mv: the sources go away from where they are.
func move(j *judge, s *scope, c call) stream {
	p := options{short: "bfinTuvZS:t:", long: "backup? force interactive no-clobber no-target-directory update? verbose suffix= target-directory= strip-trailing-slashes help version exchange no-copy debug"}.parse(c.rest())
	from, to := j.sourcesAndTarget(p)
	for _, f := range from {
		if where := j.place(s, f); where != insidePlace && where != tempPlace {
			j.removes(s, f, true)
		}
		j.carryOver(s, f, to)
	}
	j.copiesTo(s, to)
	return silent()
}

// copyTo judges cp and install.
func copyTo(j *judge, s *scope, c call) stream {
	p := options{short: "abdfiHlLnPprRsS:t:TuvxZDCm:o:g:c", long: "archive attributes-only backup? copy-contents no-dereference force interactive link dereference no-clobber preserve? no-preserve= parents recursive reflink? remove-destination sparse= strip-trailing-slashes symbolic-link suffix= target-directory= no-target-directory update? verbose one-file-system mode= owner= group= directory compare strip help version debug keep-directory-symlink"}.parse(c.rest())
	from, to := j.sourcesAndTarget(p)
	if p.has("d", "directory") && c.name() == "install" {
		from, to = nil, p.operands
	}
	for _, f := range from {
		j.read(s, f)
		j.carryOver(s, f, to)
	}
	for _, m := range p.values("m", "mode") {
		if c.name() == "install" && len(m.text) > 3 && m.text[0] != '0' {
			j.hit(rights, "mode "+m.shown())
		}
	}
	j.copiesTo(s, to)
	return silent()
}

// carryOver keeps what is known of a file when it gets another name.
func (j *judge) carryOver(s *scope, from arg, to []arg) {
	for _, f := range s.resolve(from.text) {
		for _, content := range j.files[f] {
			for _, t := range to {
				j.wrote(s, t, content)
			}
		}
	}
}

func (j *judge) sourcesAndTarget(p parsed) (from, to []arg) {
	if p.unknown != "" {
		j.opaque("option " + p.unknown)
	}
	if to = p.values("t", "target-directory"); len(to) > 0 {
		return p.operands, to
	}
	if n := len(p.operands); n > 0 {
		return p.operands[:n-1], p.operands[n-1:]
	}
	return nil, nil
}

// copiesTo judges putting something where to says.
func (j *judge) copiesTo(s *scope, to []arg) {
	for _, t := range to {
		if where := j.place(s, t); where == rootPlace || where == globPlace {
			j.raise(tool.Writes, "puts files into "+t.shown())
			continue
		}
		j.write(s, t, "puts files at")
	}
}

// link judges ln: the link is written, and may lead elsewhere later.
func link(j *judge, s *scope, c call) stream {
	p := options{short: "bdFfiLnPrsS:t:Tv", long: "backup? directory force interactive logical no-dereference physical relative symbolic suffix= target-directory= no-target-directory verbose help version"}.parse(c.rest())
	from, to := j.sourcesAndTarget(p)
	for _, f := range from {
		switch j.place(s, f) {
		case insidePlace, globPlace, tempPlace, harmlessPlace:
		default:
			j.raise(tool.Destroys, "makes a link that leads out of the workspace: "+f.shown())
		}
	}
	j.copiesTo(s, to)
	return silent()
}

// change judges chmod, chown and chgrp.
func change(j *judge, s *scope, c call) stream {
	args := c.rest()
	var operands []arg
	for _, a := range args {
		if strings.HasPrefix(a.text, "--") || strings.HasPrefix(a.text, "-") && strings.Trim(a.text, "-RcfvhHLPd") == "" {
			continue
		}
		operands = append(operands, a)
	}
	if len(operands) == 0 {
		return silent()
	}
	mode := operands[0]
	special := c.name() == "chmod" && (strings.Contains(mode.text, "s") || len(mode.text) == 4 && mode.text[0] > '0' && mode.text[0] <= '7')
	if special {
		j.hit(rights, c.name()+" "+mode.shown())
	}
	if !mode.static() {
		j.opaque("which mode it sets")
	}
	for _, t := range operands[1:] {
		switch j.place(s, t) {
		case insidePlace, globPlace, rootPlace:
			j.raise(tool.Writes, "changes rights of "+t.shown())
		case tempPlace:
			j.raise(tool.Writes, "changes rights of "+t.shown())
			if c.name() == "chmod" && (strings.Contains(mode.text, "x") || strings.ContainsAny(mode.text, "1357")) && !j.wroteIt(s, t) {
				j.hit(openMode, t.shown())
			}
		case topPlace, systemPlace, devicePlace, kernelPlace, environPlace, startPlace, enginePlace:
			j.hit(systemPath, c.name()+" "+t.shown())
		case unknownPlace:
			j.raise(tool.Destroys, "cannot be told before it runs: whose rights it changes ("+t.shown()+")")
		default:
			j.raise(tool.Destroys, "changes rights outside the workspace: "+t.shown())
		}
	}
	return silent()
}

// wroteIt reports whether the text itself wrote a file, so that what is in it
// was judged.
func (j *judge) wroteIt(s *scope, t arg) bool {
	for _, p := range s.resolve(t.text) {
		for _, content := range j.files[p] {
			if content.from != exactly || content.taint != 0 {
				return false
			}
		}
		if len(j.files[p]) > 0 {
			return true
		}
	}
	return false
}

// writesOperands judges touch, mkdir, tee, truncate and their like.
func writesOperands(destroys bool, o options) program {
	return func(j *judge, s *scope, c call) stream {
		p := o.parse(c.rest())
		if p.unknown != "" {
			j.opaque("option " + p.unknown + " of " + c.name())
		}
		for _, f := range p.operands {
			if f.is("-") {
				continue
			}
			if where := j.place(s, f); where == rootPlace && c.name() != "truncate" {
				continue
			}
			j.write(s, f, c.name()+" writes")
			if destroys {
				j.raise(tool.Destroys, "empties "+f.shown())
			}
			if c.name() == "tee" {
				j.wrote(s, f, s.in)
			}
		}
		if c.name() == "tee" {
			return s.in
		}
		return silent()
	}
}

// makeTemp judges mktemp; where it writes is known well enough.
func makeTemp(j *judge, s *scope, c call) stream {
	j.raise(tool.Writes, "makes a temporary file")
	if len(c.rest()) == 0 || len(c.rest()) == 1 && c.rest()[0].is("-d") {
		return stream{from: exactly, text: "/tmp/tmp.XXXXXXXXXX\n"}
	}
	return stream{}
}

// dd judges reading and writing by dd.
func dd(j *judge, s *scope, c call) stream {
	for _, a := range c.rest() {
		name, file, _ := strings.Cut(a.text, "=")
		target := a
		target.text = file
		switch {
		case name == "if":
			j.read(s, target)
		case name == "of":
			j.write(s, target, "writes over")
			if j.place(s, target) != harmlessPlace {
				j.raise(tool.Destroys, "writes over "+target.shown())
			}
		case strings.Contains(name, unknown):
			j.raise(tool.Destroys, "cannot be told before it runs: what dd does")
		}
	}
	return stream{}
}
