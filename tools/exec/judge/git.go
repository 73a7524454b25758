package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	gitReads = " status log diff show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree ls-remote cat-file grep reflog whatchanged name-rev merge-base" +
		" for-each-ref show-ref cherry count-objects diff-tree diff-index diff-files check-ignore check-attr var version help range-diff show-branch verify-commit verify-tag fsck" +
		" symbolic-ref check-mailmap diff-pairs clean "
	gitWrites = " add commit reset rm checkout switch branch tag merge cherry-pick revert stash mv init apply am format-patch notes worktree restore sparse-checkout bundle archive gc pack-refs" +
		" update-index write-tree commit-tree hash-object read-tree update-ref maintenance rerere repack mktree interpret-trailers stripspace fmt-merge-msg "
	gitCode   = " rebase bisect submodule " // these run commands or hooks by their nature
	gitRemote = " fetch pull push clone remote "
)

// git judges git: what it is configured to on the way, and the subcommand.
func git(j *judge, s *scope, c call) stream {
	args := c.rest()
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		a := args[0]
		name, value, given := strings.Cut(a.text, "=")
		switch name {
		case "-c", "--config-env":
			if !given && len(args) > 1 {
				args = args[1:]
				value = args[0].text
			}
			if name == "-c" && strings.HasPrefix(a.text, "-c") && len(a.text) > 2 {
				value = a.text[2:]
			}
			j.gitSetting(value, true)
		case "-C", "--git-dir", "--work-tree", "--namespace", "--attr-source":
			if !given && len(args) > 1 {
				args = args[1:]
			}
			if name != "-C" {
				j.raise(tool.Runs, "takes the settings of another repository")
			}
		case "--exec-path", "--upload-pack", "--super-prefix":
			j.hit(helper, "git "+a.shown())
		case "--no-pager", "-P", "-p", "--paginate", "--bare", "--literal-pathspecs", "--no-optional-locks", "--no-replace-objects", "--icase-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--no-advice":
		case "--version", "--help", "-h", "-v", "--html-path", "--man-path", "--info-path":
			return stream{}
		default:
			j.opaque("option " + a.shown() + " of git")
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return stream{}
	}
	if !args[0].static() || args[0].glob {
		j.opaque("git " + args[0].shown())
		return stream{}
	}
	j.gitOptions(s, args[0].text, args[1:])
	j.gitSub(s, args[0].text, args[1:])
	return stream{}
}

// gitOptions looks for options that start programs, whatever the subcommand.
func (j *judge) gitOptions(s *scope, sub string, args []arg) {
	opts, operands := flags(args)
	for _, o := range opts {
		name, value, _ := strings.Cut(o.text, "=")
		switch {
		case len(name) > 5 && (strings.HasPrefix("--upload-pack", name) || strings.HasPrefix("--receive-pack", name) || strings.HasPrefix("--extcmd", name) || strings.HasPrefix("--open-files-in-pager", name)),
			name == "--exec" && sub != "clone", len(name) > 3 && strings.HasPrefix("--exec", name) && name != "--exclude",
			strings.HasPrefix(o.text, "-O") && sub == "grep", name == "-u" && sub == "clone", name == "-x" && (sub == "rebase" || sub == "difftool"), name == "--template" && (sub == "init" || sub == "clone"):
			j.always = false
			j.hit(helper, "git "+sub+" "+o.shown())
			j.glimpse(value)
		case name == "--output":
			o.text = value
			j.write(s, o, "writes to")
		case name == "--config" || name == "-c" && sub == "clone":
			j.gitSetting(value, true)
		case name == "--ext-diff" || name == "--textconv":
			j.develops("runs the diff program of the repository")
		}
	}
	for _, a := range operands {
		if strings.HasPrefix(a.text, "ext::") || strings.HasPrefix(a.text, "fd::") {
			j.hit(helper, "git "+a.shown())
			j.glimpse(strings.TrimPrefix(a.text, "ext::"))
		}
		if strings.HasPrefix(a.text, unknown) && a.wild && sub != "commit" {
			j.opaque("arguments of git " + sub + ": " + a.shown())
		}
	}
}

// gitSetting judges one name=value of the configuration.
func (j *judge) gitSetting(setting string, used bool) {
	name, value, _ := strings.Cut(setting, "=")
	name = strings.ToLower(name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case strings.Contains(name, unknown):
		j.opaque("which setting of git it changes")
	case strings.HasPrefix(name, "alias."):
		if text, ok := strings.CutPrefix(value, "!"); ok {
			j.hit(helper, "git -c "+setting)
			j.glimpse(text)
			return
		}
		if used {
			j.raise(tool.Runs, "git with an alias")
		}
	case among(" core.pager core.editor sequence.editor core.sshcommand core.fsmonitor core.hookspath core.gitproxy core.askpass core.worktree diff.external credential.helper gpg.program uploadpack.packobjectshook protocol.ext.allow init.templatedir include.path web.browser ssh.variant protocol.allow core.attributesfile core.alternaterefscommand sendemail.smtpserver ", name),
		among(" command cmd program helper textconv driver clean smudge process path pager vcs receivepack uploadpack trustexitcode ", last), strings.HasPrefix(name, "pager."), strings.HasPrefix(name, "includeif."), strings.HasPrefix(name, "url."):
		if value == "cat" || value == "true" || value == "" || value == "less" || value == "false" || value == ":" || value == "/dev/null" {
			return
		}
		j.hit(helper, "git -c "+setting)
		j.glimpse(value)
	}
}

// gitSub judges a subcommand by what it does.
func (j *judge) gitSub(s *scope, sub string, args []arg) {
	opts, operands := flags(args)
	first := ""
	if len(operands) > 0 {
		first = operands[0].text
	}
	what := "git " + sub
	force := hasFlag(opts, "--force", "--force-with-lease", "--delete", "--mirror", "--prune", "--hard", "--discard-changes") || hasLetter(opts, "f") || hasLetter(opts, "D")
	switch {
	case gitLoses(sub, first, opts, operands, force):
		j.raise(tool.Destroys, what+" "+joinArgs(args).shown()+" cannot be taken back")
	case sub == "config":
		j.gitConfig(s, opts, operands)
	case sub == "reflog" && (first == "expire" || first == "delete"), sub == "filter-branch", sub == "filter-repo", sub == "prune":
		j.raise(tool.Destroys, what+" rewrites or removes history")
	case sub == "remote":
		if first != "" && first != "show" && first != "get-url" && first != "-v" {
			j.raise(tool.Runs, "changes where git sends and fetches")
		}
	case sub == "bisect" && first == "run":
		j.inner(s, operandsAfter(args, "run"))
	case sub == "submodule" && first == "foreach":
		j.runText(s, joinArgs(operandsAfter(args, "foreach")))
	case sub == "stash" && (first == "list" || first == "show"), among(gitReads, sub), gitLists(sub, first, opts, operands):
	case among(gitWrites, sub):
		j.raise(tool.Writes, what)
	case among(gitCode, sub):
		j.develops(what)
	case among(gitRemote, sub):
		j.reaches(what + " reaches another machine")
	default:
		j.raise(tool.Runs, "runs "+what)
	}
}

// gitLists reports whether a subcommand that may write only lists.
func gitLists(sub, first string, opts, operands []arg) bool {
	switch sub {
	case "branch", "tag":
		return len(operands) == 0 || hasFlag(opts, "--list", "--contains", "--merged", "--no-merged") || sub == "tag" && hasLetter(opts, "l")
	case "worktree", "notes", "sparse-checkout":
		return first == "list" || first == "show"
	case "apply":
		return hasFlag(opts, "--stat", "--check")
	}
	return false
}

func operandsAfter(args []arg, word string) []arg {
	for i, a := range args {
		if a.is(word) {
			return args[i+1:]
		}
	}
	return nil
}

// gitLoses reports whether work is lost that git does not keep.
func gitLoses(sub, first string, opts, operands []arg, force bool) bool {
	switch sub {
	case "push":
		if force {
			return true
		}
		for _, a := range operands {
			if strings.HasPrefix(a.text, "+") || strings.HasPrefix(a.text, ":") {
				return true
			}
		}
		return hasLetter(opts, "d")
	case "reset":
		return force || hasFlag(opts, "--merge", "--keep") || abbreviated(opts, "--h") != ""
	case "clean":
		return !hasFlag(opts, "--dry-run") && !hasLetter(opts, "n")
	case "branch", "tag":
		return force || hasLetter(opts, "d") && sub == "tag"
	case "checkout", "switch":
		return force || first == "." || len(operands) == 0 && hasFlag(opts, "--")
	case "restore":
		return !hasFlag(opts, "--staged") && !hasLetter(opts, "S")
	case "stash":
		return first == "drop" || first == "clear"
	case "rm", "worktree", "gc":
		return sub == "rm" && !hasFlag(opts, "--cached") || sub == "worktree" && first == "remove" || hasFlag(opts, "--prune")
	case "update-ref":
		return hasLetter(opts, "d")
	}
	return false
}

// gitConfig judges git config, which may set what starts programs later.
func (j *judge) gitConfig(s *scope, opts, operands []arg) {
	if hasFlag(opts, "--get", "--list", "--get-all", "--get-regexp", "--show-origin", "--show-scope", "--name-only") || hasLetter(opts, "l") || len(operands) == 1 {
		return
	}
	if len(operands) > 0 && (operands[0].is("get") || operands[0].is("list")) {
		return
	}
	if len(operands) > 0 && operands[0].is("set") {
		operands = operands[1:]
	}
	if hasFlag(opts, "--global", "--system", "--file") || hasLetter(opts, "f") || hasLetter(opts, "e") || hasFlag(opts, "--edit") {
		j.raise(tool.Runs, "changes settings of git outside the repository")
	}
	j.raise(tool.Writes, "changes settings of git")
	if len(operands) > 1 {
		j.gitSetting(operands[0].text+"="+operands[1].text, false)
		if strings.HasPrefix(operands[1].text, "!") {
			j.raise(tool.Runs, "sets an alias that starts a command")
		}
	}
}
