package judge

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	dockerReads = " ps images image/ls image/inspect image/history container/ls container/inspect inspect logs version info stats top port diff history search events network/ls network/inspect" +
		" volume/ls volume/inspect compose/ps compose/logs compose/config compose/ls compose/images compose/top compose/version context/ls context/show system/df system/info buildx/ls buildx/version buildx/inspect manifest/inspect builder/ls "
	dockerRuns  = " build pull push tag start stop restart create compose/up compose/down compose/build compose/pull compose/start compose/stop compose/restart compose/create compose/watch buildx/build network/create volume/create login logout save load commit cp rename pause unpause wait attach import export image/build image/pull image/tag buildx image container network "
	dockerLoses = " rm rmi kill prune system/prune image/prune image/rm container/rm container/prune container/kill volume/rm volume/prune network/rm network/prune builder/prune compose/rm compose/kill "
)

// docker judges the client of a container engine. The engine is not behind the
// walls of a command, so that what it runs counts even there.
func docker(j *judge, s *scope, c call) stream {
	args := c.rest()
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		switch name, _, given := strings.Cut(args[0].text, "="); {
		case among(" -H --host -c --context --config -f --file -p --project-name --env-file --profile -l --log-level ", name) && !given:
			if name == "-H" || name == "--host" || name == "-c" || name == "--context" || name == "--config" {
				j.raise(tool.Runs, "talks to another container engine")
			}
			args = args[min(1, len(args)-1):]
		case args[0].is("--version") || args[0].is("-v") || args[0].is("--help"):
			return stream{}
		case !given && !among(" -D --debug --tls --tlsverify --verbose --ansi ", name):
			j.opaque("option " + args[0].shown() + " of " + c.name())
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return stream{}
	}
	name := args[0].text
	rest := args[1:]
	if c.name() == "docker-compose" {
		name, rest = "compose", args
	}
	if among(" compose image container network volume system context buildx builder manifest ", name) {
		if _, more := flags(skipComposeFiles(rest)); len(more) > 0 {
			name += "/" + more[0].text
			rest = operandsAfter(rest, more[0].text)
		}
	}
	switch {
	case among(" run exec container/run container/exec container/create create compose/run compose/exec ", name):
		j.containerRun(s, rest)
	case among(dockerReads, name):
	case among(dockerLoses, name):
		j.raise(tool.Destroys, c.name()+" "+strings.ReplaceAll(name, "/", " ")+" cannot be taken back")
	case among(dockerRuns, name):
		j.raise(tool.Runs, "uses the container engine: "+c.name()+" "+strings.ReplaceAll(name, "/", " "))
	default:
		j.raise(tool.Runs, "runs "+c.name()+" "+shorten(name))
	}
	return stream{}
}

func skipComposeFiles(args []arg) []arg {
	for len(args) > 1 && among(" -f --file -p --project-name --env-file --profile --project-directory ", args[0].text) {
		args = args[2:]
	}
	return args
}

// containerRun judges docker run and docker exec: the rights of the container,
// and the command in it.
func (j *judge) containerRun(s *scope, args []arg) {
	j.always = false
	j.raise(tool.Runs, "runs a container")
	for i, a := range args {
		option, text, given := strings.Cut(a.text, "=")
		if !given && i+1 < len(args) {
			text = args[i+1].text
		}
		switch option {
		case "--privileged", "--device", "--cap-add":
			if !given || text != "false" {
				j.hit(hostMounts, a.shown())
			}
		case "--pid", "--network", "--net", "--ipc", "--uts", "--userns", "--cgroupns":
			if text == "host" && option != "--network" && option != "--net" {
				j.hit(hostMounts, option+" "+text)
			}
		case "--security-opt":
			if containsAny(text, "unconfined", "disable", "no-new-privileges:false") {
				j.hit(hostMounts, text)
			}
		case "-v", "--volume", "--mount":
			j.mounts(s, text)
		}
		if !given && strings.HasPrefix(a.text, "-v/") {
			j.mounts(s, a.text[2:])
		}
	}
	if _, operands := flags(args); len(operands) > 1 {
		j.glimpse(joinArgs(operands[1:]).text)
	}
}

// mounts judges what a container gets of this machine.
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
		return // a volume, or what cannot be told: a person is asked anyway
	}
	switch j.place(s, literal(source)) {
	case topPlace, systemPlace, kernelPlace, environPlace, devicePlace, secretPlace, startPlace:
		j.hit(hostMounts, text)
	case enginePlace:
		j.hit(dockerSock, text)
	}
}

// kubectl judges the client of a cluster.
func kubectl(j *judge, s *scope, c call) stream {
	t := subcommands{
		values: " -n --namespace --context --cluster -o --output -l ", plain: " -A --all-namespaces ",
		reads:  " version explain api-resources api-versions config/view config/current-context config/get-contexts completion kustomize ",
		remote: " get describe logs top events cluster-info rollout/status rollout/history auth/can-i diff wait ",
		runs:   " config proxy port-forward exec cp debug attach run plugin ",
	}
	t.call(j, s, c)
	if hasFlag(c.rest(), "--kubeconfig") {
		j.raise(tool.Runs, "takes the settings of another cluster")
	}
	return stream{}
}
