package cli

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// checkOf returns the Go check of a preset, or nil. The check covers cases beyond the patterns:
// it returns an error, or the effect of a command.
func checkOf(preset string) func(line, Program) (effect, error) {
	switch preset {
	case "gh":
		return checkGH
	case "aws":
		return checkAWS
	case "kubectl":
		return checkKubectl
	}
	return nil
}

// checkAWS refuses regions that are addresses, and addresses of files with variables in them:
// aws expands them, and prints their values in its error.
func checkAWS(l line, _ Program) (effect, error) {
	values := []string{}
	for _, w := range l.words {
		values = append(values, w.text)
	}
	for _, f := range l.flags {
		values = append(values, f.values...)
	}
	for _, region := range l.valuesOf("--region") {
		if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return 0, tool.Errorf(tool.Refused, "aws does not run this: %.40q is not a region", region).
				Try("write a name such as eu-central-1")
		}
	}
	for _, v := range values {
		low := strings.ToLower(v)
		if (strings.Contains(low, "file://") || strings.Contains(low, "fileb://")) && strings.ContainsAny(v, "$%~") {
			return 0, tool.Errorf(tool.Refused, "aws does not run this: it expands variables in the names of files").
				Try("write a plain path after file://")
		}
	}
	return unlisted, nil
}

// ghLooks are the commands that use the repository in the directory by default.
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
	if ghLooksAround(l) {
		return 0,
			tool.Errorf(tool.Invalid,
				"the directory is in no git repository with a remote on a host that gh may reach").
				Try("add -R OWNER/NAME")
	}
	return unlisted, nil
}

// ghLooksAround reports whether a command is about the repository in the directory.
func ghLooksAround(l line) bool {
	return has(ghLooks, l.word(0)) && !l.has("--repo -R --help --user --org --owner -o -u") && l.word(1) != "status" &&
		!slices.ContainsFunc(l.words, func(w word) bool { return strings.Contains(w.text, "://") })
}

// ghInRepository returns the arguments with the repository, and where gh would need
// it the branch, of the directory. gh itself cannot look: it has no git.
func ghInRepository(args []string, l line, address, branch string) []string {
	name := strings.TrimSuffix(address, ".git")
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		name = u.Hostname() + u.Path
	} else if _, after, ok := strings.Cut(name, "@"); ok {
		name = strings.Replace(after, ":", "/", 1)
	}
	if strings.Count(name, "/") != 2 || !ghLooksAround(l) || slices.Contains(args, "--") {
		return args
	}
	args = append(slices.Clone(args), "--repo", strings.TrimPrefix(name, "github.com/"))
	switch about := has("view diff checks comment edit ready review merge close", l.word(1)); {
	case branch == "" || l.word(0) != "pr":
	case l.word(1) == "create" && !l.has("--head -H"):
		args = append(args, "--head", branch)
	case about && len(l.words) == 2 && args[0] == "pr" && args[1] == l.word(1):
		args = slices.Insert(args, 2, branch)
	}
	return args
}

func ghRefuses(why, instead string) *tool.Error {
	return tool.Errorf(tool.Refused, "gh does not run this: %s", why).Try("%s", instead)
}

// jqEnviron finds the reads of the environment in a filter of jq: $ENV, and env where it is not
// a field (.env) and no longer word.
func jqEnviron() *regexp.Regexp {
	return regexp.MustCompile(`\$\s*(ENV|__prog_args)|(^|\.\.|[^.\w"$])env\b|input_filename|` +
		`(^|[^.\w"])(import|include|modulemeta)\b`)
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

// ghPrivate are the parts of addresses that lead to credentials and rights.
const ghPrivate = "secrets keys gpg_keys ssh_signing_keys hooks collaborators memberships invitations tokens token " +
	"access_tokens installations transfer registration-token remove-token dependabot codespaces deploy_keys " +
	"applications authorizations interaction-limits protection rulesets"

// ghAPI judges a request that is written out.
func ghAPI(l line) (effect, error) {
	endpoint := l.word(1)
	if endpoint == "" || strings.Contains(endpoint, "://") || strings.HasPrefix(endpoint, "//") ||
		strings.Contains(endpoint, "..") || strings.Contains(endpoint, "%") {
		return 0, tool.Errorf(tool.Invalid, "gh api needs a plain endpoint").
			Try("write it right after api, such as: gh api repos/OWNER/NAME/pulls")
	}
	if strings.ContainsAny(endpoint, "{:") {
		return 0, tool.Errorf(tool.Invalid, "gh with credentials does not look at the repository in the directory").
			Try("write OWNER/NAME out in the endpoint")
	}
	for _, h := range l.valuesOf("--header -H") {
		if name, _, _ := strings.Cut(h, ":"); !has("accept x-github-api-version if-none-match",
			strings.ToLower(strings.TrimSpace(name))) {
			return 0, ghRefuses("it sets a header that may change the meaning of the request", "set no header but Accept")
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

// ghMethod returns the effect of the method of a request, given or not.
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
			return 0, ghRefuses("it deletes by a bare request",
				"use the command that gh has for it, or ask the user to")
		}
	}
	return does, nil
}

// ghGraphQL judges a query. The query must be part of the command.
func ghGraphQL(l line) (effect, error) {
	fields := l.valuesOf("--field -F --raw-field -f")
	query := strings.ToLower(strings.Join(fields, "\n"))
	switch {
	case l.has("--input") || strings.Contains(query, "=@") || !strings.Contains(query, "query="):
		return 0, ghRefuses("the effect of the query cannot be seen", "write it into the command: -f query='...'")
	case !strings.Contains(query, "mutation") && !strings.Contains(query, "subscription"):
		return reads, nil
	case regexp.MustCompile(`delete|remove|archive|transfer|revoke|disable|token|secret|key|visibility|` +
		`collaborator|member`).MatchString(query):
		return 0, ghRefuses("the mutation deletes something or changes rights",
			"use the command that gh has for it, or ask the user to")
	}
	return changes, nil
}

// kubePillars are the kinds of things that a whole cluster depends on.
const kubePillars = "ns namespace namespaces no node nodes pv persistentvolume persistentvolumes crd crds" +
	" customresourcedefinition customresourcedefinitions" +
	" clusterrole clusterroles clusterrolebinding clusterrolebindings sc storageclass storageclasses" +
	" apiservice apiservices all mutatingwebhookconfiguration mutatingwebhookconfigurations" +
	" validatingwebhookconfiguration validatingwebhookconfigurations" +
	" priorityclass priorityclasses pc csidriver csidrivers"

func checkKubectl(l line, _ Program) (effect, error) {
	kinds := kubeKinds(l)
	among := func(list string) bool { return slices.ContainsFunc(kinds, func(k string) bool { return has(list, k) }) }
	if l.word(0) == "delete" && among(kubePillars) {
		return 0, tool.Errorf(tool.Refused, "kubectl does not delete namespaces, nodes and the like").
			Try("ask the user to do it")
	}
	if l.word(0) == "create" || !l.has("--template") && !kubeShows(l.valuesOf("--output -o")) {
		return unlisted, nil
	}
	if among("secret secrets") {
		return 0, tool.Errorf(tool.Refused, "kubectl does not show the content of a secret").
			Try("leave -o out, or use kubectl describe, to see which keys it has")
	}
	if l.has("--filename -f --kustomize -k") && l.word(0) != "logs" && l.word(0) != "kustomize" {
		return 0,
			tool.Errorf(tool.Refused,
				"kubectl shows things by the name of a file only in short, since they may be secrets").
				Try("leave -o out, or name the kind: kubectl get deployment NAME -o yaml")
	}
	return unlisted, nil
}

// kubeShows reports whether an output has more than names and columns.
func kubeShows(outputs []string) bool {
	return slices.ContainsFunc(outputs, func(o string) bool { return o != "name" && o != "wide" })
}

// kubeKinds returns the kinds that a command may be about: pods,svc and deploy/web,
// and after a flag that we do not know, any word.
func kubeKinds(l line) []string {
	var kinds []string
	files := l.valuesOf("-f --filename -k --kustomize")
	for i, w := range l.words[min(1, len(l.words)):] {
		if !w.sure && slices.Contains(files, w.text) {
			continue
		}
		for one := range strings.SplitSeq(w.text, ",") {
			kind, _, named := strings.Cut(one, "/")
			if i == 0 || named || !w.sure {
				kind, _, _ = strings.Cut(kind, ".")
				kinds = append(kinds, strings.ToLower(kind))
			}
		}
	}
	return kinds
}
