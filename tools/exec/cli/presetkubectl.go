package cli

import (
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// kubectl is the command line of Kubernetes.
func kubectl() preset {
	return preset{
		grammar: grammar{
			dashes: true,
			values: "-n --namespace -o --output -l --selector --filename -k --kustomize -c --container --context --request-timeout --field-selector" +
				" --sort-by --tail --since --replicas --image --template --field-manager --timeout", // -f follows a log
			others: "--client",
		},
		reads: `
			get|describe|logs|top|explain|events|version|api-resources|api-versions|diff|wait|help
			cluster-info
			rollout status|history
			auth can-i|whoami
			config current-context|get-contexts|get-clusters|view
		`,
		changes: `
			apply|create|patch|replace|scale|autoscale|expose|label|annotate|run|kustomize
			rollout restart|undo|pause|resume
			set image|resources|env|selector|serviceaccount
			cluster-info dump
			uncordon
		`,
		deletes: `
			delete
			apply --prune
			replace --force
			scale --replicas=0
		`,
		refused: []refusal{
			{"that opens a way into a container or a node", "exec|attach|cp|port-forward|proxy|debug"},
			{"that takes nodes out of service", "drain|cordon|taint"},
			{"that shows or makes credentials", "create token|clusterrolebinding|rolebinding|clusterrole|role\nauth reconcile\ncertificate\nconfig view --raw|--flatten\nset subject\nset env --resolve"},
			{"that shows what was applied, secrets included", "apply view-last-applied|edit-last-applied|set-last-applied"},
			{"it uses other credentials or another server than the configured ones",
				"--kubeconfig\n--token\n--server|-s\n--as|--as-group|--as-uid|--as-user-extra\n--user\n--cluster\n--username\n--password\n--client-key\n--client-certificate\n" +
					"--certificate-authority\n--insecure-skip-tls-verify\n--tls-server-name\n--kuberc\n--disable-compression"},
			{"it writes down requests with their credentials",
				"--v|-v\n--vmodule\n--logtostderr|--alsologtostderr|--log-file|--log-dir|--stderrthreshold|--log-backtrace-at\n--profile|--profile-output\n--cache-dir"},
			{"a bare request can do anything", "--raw"},
			{"it runs other programs", "plugin\nedit\n--enable-helm|--helm-command|--enable-exec|--enable-alpha-plugins|--network|--mount|--load-restrictor\nkustomize --env|-e"},
			{"it deletes whatever is there", "delete --all|--all-namespaces|-A"},
		},
		hints:   []refusal{{"kubectl has its configuration from the operator", "config"}},
		env:     append(everywhere(), "KUBECTL_KUBERC=false", "KUBERC=off", "KUBE_EDITOR=true", "KUBECTL_EXTERNAL_DIFF=diff -u -N", "KUBECTL_COMMAND_HEADERS=false"),
		seconds: 60,
		check:   checkKubectl,
	}
}

// kubePillars are kinds of things that hold up everything else.
const kubePillars = "ns namespace namespaces no node nodes pv persistentvolume persistentvolumes crd crds customresourcedefinition customresourcedefinitions" +
	" clusterrole clusterroles clusterrolebinding clusterrolebindings sc storageclass storageclasses apiservice apiservices all" +
	" mutatingwebhookconfiguration mutatingwebhookconfigurations validatingwebhookconfiguration validatingwebhookconfigurations" +
	" priorityclass priorityclasses pc csidriver csidrivers"

func checkKubectl(l line, _ Program) (effect, error) {
	kinds := kubeKinds(l)
	among := func(list string) bool { return slices.ContainsFunc(kinds, func(k string) bool { return has(list, k) }) }
	if l.word(0) == "delete" && among(kubePillars) {
		return 0, tool.Errorf(tool.Refused, "kubectl does not delete namespaces, nodes and what else holds up a cluster").Try("ask the user to do it")
	}
	if l.word(0) == "create" || !l.has("--template") && !kubeShows(l.valuesOf("--output -o")) {
		return unlisted, nil
	}
	if among("secret secrets") {
		return 0, tool.Errorf(tool.Refused, "kubectl does not show what is in a secret").Try("leave -o out, or use kubectl describe, to see which keys it has")
	}
	if l.has("--filename -f --kustomize -k") && l.word(0) != "logs" && l.word(0) != "kustomize" {
		return 0, tool.Errorf(tool.Refused, "kubectl shows things by the name of a file only in short, since they may be secrets").
			Try("leave -o out, or name the kind: kubectl get deployment NAME -o yaml")
	}
	return unlisted, nil
}

// kubeShows reports whether an output has more than names and columns.
func kubeShows(outputs []string) bool {
	return slices.ContainsFunc(outputs, func(o string) bool { return o != "name" && o != "wide" })
}

// kubeKinds are the kinds that a command may be about: pods,svc and deploy/web,
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
