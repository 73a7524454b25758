package cli

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// gh is the command line of GitHub. It looks at no repository here, since a
// repository's own settings run programs, and those would have the token.
func gh() preset {
	return preset{
		grammar: grammar{
			dashes: true,
			values: "-R --repo --title -t --body -b --body-file -F --jq -q --template --json --limit -L --label -l --state --assignee --author --search -S" +
				" --base -B --head -H --reviewer --milestone --notes --notes-file --method -X --field --raw-field --header --input --cache",
			texts: "--title -t --body -b --notes --template --jq -q --search -S",
		},
		reads: `
			api
			pr list|view|diff|checks|status
			issue list|view|status
			run list|view|watch
			workflow list|view
			release list|view
			repo list|view
			label list
			gist list|view
			cache list
			variable list|get
			ruleset list|view|check
			project list|view|item-list|field-list
			org list
			search repos|issues|prs|commits|code
			status
			version
			attestation verify
			help
		`,
		changes: `
			pr create|edit|comment|merge|close|reopen|ready|review|lock|unlock|update-branch
			issue create|edit|comment|close|reopen|pin|unpin|lock|unlock|transfer|develop
			run rerun|cancel|download
			workflow run|enable|disable
			release create|edit|upload|download
			repo create|fork|sync
			label create|edit|clone
			gist create|edit|rename
			variable set
			project create|edit|close|copy|field-create|item-add|item-create|item-edit|item-archive|link|unlink
		`,
		deletes: `
			release delete|delete-asset
			run delete
			label delete
			issue delete
			gist delete
			cache delete
			variable delete
			project delete|item-delete|field-delete
			pr merge|close --delete-branch|-d
			repo sync --force
			project create|edit|close --undo
		`,
		refused: []refusal{
			{"that shows or changes how gh logs in", "auth\nconfig\n--show-token"},
			{"that makes gh run other code", "alias\nextension|extensions|ext\nbrowse\ncompletion\ncopilot|agent-task\npreview"},
			{"that opens a shell elsewhere", "codespace|cs"},
			{"keys and secrets are for people to change", "secret\nssh-key\ngpg-key\nrepo deploy-key"},
			{"that deletes a repository, or changes who has it", "repo delete|archive|unarchive|rename|edit|set-default|gitignore|license|autolink"},
			{"that sends the token elsewhere, or shows it", "--hostname\n--verbose\n--insecure-storage\n--with-token"},
			{"settings of a repository run programs here; use git with the tool exec", "pr checkout|co\nrepo clone\ngist clone\n--clone\n--source"},
		},
		env: append(everywhere(), "GH_PROMPT_DISABLED=1", "GH_PAGER=cat", "GH_EDITOR=true", "GH_BROWSER=true", "GH_NO_UPDATE_NOTIFIER=1",
			"GH_NO_EXTENSION_UPDATE_NOTIFIER=1", "GH_TELEMETRY=0", "GIT_DIR=/dev/null"),
		seconds: 30,
		check:   checkGH,
	}
}

// ghLooks are the commands that look for a repository here unless told.
const ghLooks = "pr issue run workflow release label cache variable ruleset"

func checkGH(l line, p Program) (effect, error) {
	for _, filter := range l.valuesOf("--jq -q") {
		if jqEnviron().MatchString(filter) {
			return 0, ghRefuses("the filter reads the environment, where the token is", "leave env and $ENV out of it")
		}
	}
	if err := ghPlaces(l, p); err != nil {
		return 0, err
	}
	if l.word(0) == "api" {
		return ghAPI(l)
	}
	if has(ghLooks, l.word(0)) && !l.has("--repo -R --help --user --org --owner -o -u") && l.word(1) != "status" &&
		!slices.ContainsFunc(l.words, func(w word) bool { return strings.Contains(w.text, "://") }) {
		return 0, tool.Errorf(tool.Invalid, "gh with credentials does not look at the repository in the directory").
			Try("add -R OWNER/NAME")
	}
	return unlisted, nil
}

func ghRefuses(why, instead string) *tool.Error {
	return tool.Errorf(tool.Refused, "gh does not run this: %s", why).Try("%s", instead)
}

// jqEnviron finds what reads the environment in a filter of jq: $ENV, and env
// where it is no field (.env) and no longer word.
func jqEnviron() *regexp.Regexp {
	return regexp.MustCompile(`\$\s*(ENV|__prog_args)|(^|\.\.|[^.\w"$])env\b|input_filename|(^|[^.\w"])(import|include|modulemeta)\b`)
}

// ghPlaces refuses repositories and pages on hosts that the token is not for.
func ghPlaces(l line, p Program) error {
	check := func(text string, repository bool) error {
		host := ""
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			host = u.Hostname()
		} else if at, ok := strings.CutPrefix(text, "git@"); ok {
			host, _, _ = strings.Cut(at, ":")
		} else if parts := strings.Split(text, "/"); repository && len(parts) > 2 {
			host = parts[0]
		}
		if host == "" || host == "github.com" || strings.HasSuffix(host, ".github.com") || p.reaches(host) {
			return nil
		}
		return ghRefuses("it is about another host than the token is for", "name a repository as OWNER/NAME")
	}
	for _, w := range l.words {
		if err := check(w.text, l.word(0) == "repo"); err != nil {
			return err
		}
	}
	for _, f := range l.flags {
		for _, v := range f.values {
			if f.text {
				continue
			}
			if err := check(v, f.name == "--repo" || f.name == "-R" || f.name == "--from-repo"); err != nil {
				return err
			}
		}
	}
	return nil
}

// reaches reports whether the operator named a host.
func (p Program) reaches(host string) bool {
	return slices.ContainsFunc(p.Hosts, func(h string) bool {
		name, _, _ := strings.Cut(h, ":")
		return strings.EqualFold(name, host)
	})
}

// ghPrivate are parts of addresses under which credentials and rights are.
const ghPrivate = "secrets keys gpg_keys ssh_signing_keys hooks collaborators memberships invitations tokens token access_tokens installations" +
	" transfer registration-token remove-token dependabot codespaces deploy_keys applications authorizations interaction-limits protection rulesets"

// ghAPI judges a request that is written out.
func ghAPI(l line) (effect, error) {
	endpoint := l.word(1)
	if endpoint == "" || strings.Contains(endpoint, "://") || strings.HasPrefix(endpoint, "//") || strings.Contains(endpoint, "..") || strings.Contains(endpoint, "%") {
		return 0, tool.Errorf(tool.Invalid, "gh api needs a plain endpoint").Try("write it right after api, such as: gh api repos/OWNER/NAME/pulls")
	}
	if strings.ContainsAny(endpoint, "{:") {
		return 0, tool.Errorf(tool.Invalid, "gh with credentials does not look at the repository in the directory").Try("write OWNER/NAME out in the endpoint")
	}
	for _, h := range l.valuesOf("--header -H") {
		if name, _, _ := strings.Cut(h, ":"); !has("accept x-github-api-version if-none-match", strings.ToLower(strings.TrimSpace(name))) {
			return 0, ghRefuses("it sets a header that may change what the request means", "set no header but Accept")
		}
	}
	path, _, _ := strings.Cut(strings.Trim(strings.ToLower(endpoint), "/"), "?")
	if path == "graphql" {
		return ghGraphQL(l)
	}
	does, err := ghMethod(l)
	if err != nil || does == reads {
		return does, err
	}
	for part := range strings.SplitSeq(path, "/") {
		if has(ghPrivate, part) {
			return 0, ghRefuses("credentials and rights are for people to change", "ask the user to")
		}
	}
	return does, nil
}

// ghMethod is what the method of a request does, given or not.
func ghMethod(l line) (effect, error) {
	does := reads
	if l.has("--field -F --raw-field -f --input") && !l.has("--method -X") {
		does = changes
	}
	for _, m := range l.valuesOf("--method -X") {
		switch strings.ToUpper(m) {
		case "GET", "HEAD":
		case "POST", "PUT", "PATCH":
			does = changes
		default:
			return 0, ghRefuses("it deletes by a bare request", "use the command that gh has for it, or ask the user to")
		}
	}
	return does, nil
}

// ghGraphQL judges a query, which must be in the command to be judged.
func ghGraphQL(l line) (effect, error) {
	fields := l.valuesOf("--field -F --raw-field -f")
	query := strings.ToLower(strings.Join(fields, "\n"))
	switch {
	case l.has("--input") || strings.Contains(query, "=@") || !strings.Contains(query, "query="):
		return 0, ghRefuses("what the query does cannot be seen", "write it into the command: -f query='...'")
	case !strings.Contains(query, "mutation") && !strings.Contains(query, "subscription"):
		return reads, nil
	case regexp.MustCompile(`delete|remove|archive|transfer|revoke|disable|token|secret|key|visibility|collaborator|member`).MatchString(query):
		return 0, ghRefuses("the mutation deletes something or changes rights", "use the command that gh has for it, or ask the user to")
	}
	return changes, nil
}
