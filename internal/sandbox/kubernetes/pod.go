package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/docker"
)

const (
	container = "sandbox" // the name of the container of commands
	home      = "/tmp/home"
	// user is the user and group of commands. It owns no files on any node.
	user = 65534
	// deadline ends a pod whose server has died in a way that left its stdin open, after the maximum age of a sandbox.
	deadline = 24 * 60 * 60
	// selector is the label that all pods of sandboxes have, and the network policy selects.
	label    = "app.kubernetes.io/name"
	value    = "mcp-tools-sandbox"
	selector = label + "=" + value
)

// The types of the API, as far as they are used. Fields that are false or 0 on purpose are pointers.
type (
	metadata struct {
		Name            string            `json:"name,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
		Annotations     map[string]string `json:"annotations,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Deleted         string            `json:"deletionTimestamp,omitempty"` // the time; "" if it is not being deleted
	}
	pod struct {
		APIVersion string    `json:"apiVersion,omitempty"`
		Kind       string    `json:"kind,omitempty"`
		Metadata   metadata  `json:"metadata"`
		Spec       podSpec   `json:"spec"`
		Status     podStatus `json:"status,omitzero"`
	}
	podSpec struct {
		RestartPolicy                 string          `json:"restartPolicy"`
		ActiveDeadlineSeconds         int64           `json:"activeDeadlineSeconds"`
		TerminationGracePeriodSeconds int64           `json:"terminationGracePeriodSeconds"`
		AutomountServiceAccountToken  *bool           `json:"automountServiceAccountToken"`
		EnableServiceLinks            *bool           `json:"enableServiceLinks"`
		RuntimeClassName              string          `json:"runtimeClassName,omitempty"`
		Hostname                      string          `json:"hostname"`
		SecurityContext               podSecurity     `json:"securityContext"`
		ImagePullSecrets              []named         `json:"imagePullSecrets,omitempty"`
		InitContainers                []containerSpec `json:"initContainers"`
		Containers                    []containerSpec `json:"containers"`
		Volumes                       []volume        `json:"volumes"`
	}
	named struct {
		Name string `json:"name"`
	}
	podSecurity struct {
		RunAsNonRoot   *bool   `json:"runAsNonRoot"`
		RunAsUser      int64   `json:"runAsUser"`
		RunAsGroup     int64   `json:"runAsGroup"`
		FSGroup        int64   `json:"fsGroup"`
		SeccompProfile profile `json:"seccompProfile"`
	}
	profile struct {
		Type string `json:"type"`
	}
	containerSpec struct {
		Name            string            `json:"name"`
		Image           string            `json:"image"`
		Command         []string          `json:"command,omitempty"`
		Args            []string          `json:"args,omitempty"`
		WorkingDir      string            `json:"workingDir,omitempty"`
		Stdin           bool              `json:"stdin,omitempty"`
		StdinOnce       bool              `json:"stdinOnce,omitempty"`
		Resources       resources         `json:"resources"`
		SecurityContext containerSecurity `json:"securityContext"`
		VolumeMounts    []mount           `json:"volumeMounts"`
	}
	resources struct {
		Requests map[string]string `json:"requests"`
		Limits   map[string]string `json:"limits"`
	}
	containerSecurity struct {
		AllowPrivilegeEscalation *bool        `json:"allowPrivilegeEscalation"`
		Privileged               *bool        `json:"privileged"`
		ReadOnlyRootFilesystem   *bool        `json:"readOnlyRootFilesystem"`
		RunAsNonRoot             *bool        `json:"runAsNonRoot"`
		Capabilities             capabilities `json:"capabilities"`
	}
	capabilities struct {
		Drop []string `json:"drop"`
	}
	mount struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
		ReadOnly  bool   `json:"readOnly,omitempty"`
	}
	volume struct {
		Name     string   `json:"name"`
		EmptyDir emptyDir `json:"emptyDir"`
	}
	emptyDir struct {
		Medium    string `json:"medium,omitempty"`
		SizeLimit string `json:"sizeLimit,omitempty"`
	}
	podStatus struct {
		Phase                 string            `json:"phase,omitempty"`
		Reason                string            `json:"reason,omitempty"`
		Message               string            `json:"message,omitempty"`
		Conditions            []condition       `json:"conditions,omitempty"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses,omitempty"`
		ContainerStatuses     []containerStatus `json:"containerStatuses,omitempty"`
	}
	condition struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Reason  string `json:"reason,omitempty"`
		Message string `json:"message,omitempty"`
	}
	containerStatus struct {
		Name  string         `json:"name"`
		State containerState `json:"state"`
	}
	containerState struct {
		Waiting    *cause    `json:"waiting,omitempty"`
		Running    *struct{} `json:"running,omitempty"`
		Terminated *cause    `json:"terminated,omitempty"`
	}
	cause struct {
		Reason   string `json:"reason,omitempty"`
		Message  string `json:"message,omitempty"`
		ExitCode int    `json:"exitCode,omitempty"`
	}
	policy struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			PodSelector struct {
				MatchLabels      map[string]string `json:"matchLabels,omitempty"`
				MatchExpressions []any             `json:"matchExpressions,omitempty"`
			} `json:"podSelector"`
			PolicyTypes []string `json:"policyTypes,omitempty"`
			Ingress     []any    `json:"ingress,omitempty"`
			Egress      []any    `json:"egress,omitempty"`
		} `json:"spec"`
	}
)

func bytesOf(n int64) string { return strconv.FormatInt(n, 10) }

// pod returns the pod of a sandbox, as restricted Pod Security requires, without access to the
// cluster.
func (l *Launcher) pod(s sandbox.Spec) pod {
	yes, no := true, false
	secure := containerSecurity{
		AllowPrivilegeEscalation: &no, Privileged: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
		Capabilities: capabilities{Drop: []string{"ALL"}},
	}
	amounts := map[string]string{
		"cpu": cmp.Or(l.o.CPU, "1"), "memory": bytesOf(max(s.Limits.Memory, 64<<20)), "ephemeral-storage": bytesOf(cmp.Or(l.o.Disk, 4<<30)),
	}
	same := resources{Requests: amounts, Limits: amounts}
	b := l.o.base
	entry := []string{b + "/.mcp/agent", docker.StageArg, "-wait"}
	if s.Proxy != "" {
		entry = append(entry, "-proxy", agent.Stream)
	}
	if s.Limits.FileSize > 0 {
		entry = append(entry, "-filesize", strconv.FormatInt(s.Limits.FileSize, 10))
	}
	p := pod{
		APIVersion: "v1", Kind: "Pod",
		Metadata: metadata{
			Name:        "sandbox-" + strings.ToLower(s.ID),
			Labels:      map[string]string{label: value},
			Annotations: map[string]string{"mcp-tools/owner": s.Owner, "mcp-tools/session": s.Session, "mcp-tools/data": l.o.Data},
		},
		Spec: podSpec{
			RestartPolicy: "Never", ActiveDeadlineSeconds: deadline, TerminationGracePeriodSeconds: 1,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, RuntimeClassName: l.o.Runtime, Hostname: "sandbox",
			SecurityContext: podSecurity{
				RunAsNonRoot: &yes, RunAsUser: user, RunAsGroup: user, FSGroup: user, SeccompProfile: profile{"RuntimeDefault"},
			},
			InitContainers: []containerSpec{{
				Name: "agent", Image: l.o.Agent, Args: []string{InstallArg, b + "/.mcp/agent"}, Resources: same, SecurityContext: secure,
				VolumeMounts: []mount{{Name: "agent", MountPath: b + "/.mcp"}},
			}},
			Containers: []containerSpec{{
				Name: container, Image: l.o.Image, Command: entry, WorkingDir: b + "/workspace", Stdin: true, StdinOnce: true,
				Resources: same, SecurityContext: secure,
				VolumeMounts: []mount{
					{Name: "agent", MountPath: b + "/.mcp", ReadOnly: true}, {Name: "workspace", MountPath: b + "/workspace"},
					{Name: "roots", MountPath: b + "/roots"}, {Name: "tmp", MountPath: b + "/tmp"},
				},
			}},
			Volumes: []volume{
				{Name: "agent", EmptyDir: emptyDir{SizeLimit: bytesOf(512 << 20)}},
				{Name: "workspace", EmptyDir: emptyDir{SizeLimit: amounts["ephemeral-storage"]}},
				{Name: "roots", EmptyDir: emptyDir{SizeLimit: amounts["ephemeral-storage"]}},
				// In memory, so that a full directory is an error of the command and does not end the pod.
				{Name: "tmp", EmptyDir: emptyDir{Medium: "Memory", SizeLimit: bytesOf(max(s.Limits.Scratch(), 16<<20))}},
			},
		},
	}
	if l.o.PullSecret != "" {
		p.Spec.ImagePullSecrets = []named{{l.o.PullSecret}}
	}
	return p
}

// isolated reports whether policies deny the pods of sandboxes all traffic. Policies add up: one that allows
// traffic is enough.
func isolated(policies []policy) bool {
	denied := false
	for _, p := range policies {
		selected := true
		for k, v := range p.Spec.PodSelector.MatchLabels {
			selected = selected && k == label && v == value
		}
		if !selected {
			continue
		}
		if len(p.Spec.Ingress)+len(p.Spec.Egress) > 0 {
			return false // also if expressions may leave the pods out
		}
		denied = denied || len(p.Spec.PodSelector.MatchExpressions) == 0 &&
			slices.Contains(p.Spec.PolicyTypes, "Egress") && slices.Contains(p.Spec.PolicyTypes, "Ingress")
	}
	return denied
}

// ended reports whether nothing of a pod runs any more.
func (s podStatus) ended() bool { return s.Phase == "Succeeded" || s.Phase == "Failed" }

// fatal are the waiting reasons that do not pass.
var fatal = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError",
	"CreateContainerError", "RunContainerError", "CrashLoopBackOff"}

// state reports whether the container of commands runs. The error says why it never will.
func (s podStatus) state(o Options) (runs bool, err error) {
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		w, t := c.State.Waiting, c.State.Terminated
		image, setting := o.Image, "image"
		if c.Name != container {
			image, setting = o.Agent, "agent"
		}
		switch {
		case w != nil && slices.Contains(fatal, w.Reason) && strings.Contains(w.Reason, "Image"):
			return false, unavailable("the image %s of the sandbox cannot be pulled: %s", image, cmp.Or(w.Message, w.Reason)).
				Try("ask the operator to correct sandbox.kubernetes.%s, or pull_secret", setting)
		case w != nil && slices.Contains(fatal, w.Reason):
			return false, unavailable("the container of the sandbox does not start: %s: %s", w.Reason, w.Message).
				Try("ask the operator to run mcp-tools doctor")
		case t != nil && (c.Name == container || t.ExitCode != 0):
			return false, unavailable("the container %s of the sandbox has ended: %s", c.Name, t.words()).
				Try("ask the operator whether sandbox.kubernetes.agent is the image of mcp-tools for these nodes")
		case c.Name == container && c.State.Running != nil:
			return true, nil
		}
	}
	if s.ended() {
		return false, unavailable("the pod of the sandbox has ended: %s", s.words()).Try("try again")
	}
	return false, nil
}

func (c cause) words() string {
	return strings.TrimSpace(fmt.Sprintf("%s with the exit code %d %s", cmp.Or(c.Reason, "it ended"), c.ExitCode, c.Message))
}

// words returns why a pod has ended.
func (s podStatus) words() string {
	if s.Reason != "" || s.Message != "" {
		return strings.Trim(s.Reason+": "+s.Message, ": ")
	}
	for _, c := range s.ContainerStatuses {
		if c.State.Terminated != nil {
			return c.State.Terminated.words()
		}
	}
	return "its phase is " + cmp.Or(s.Phase, "not known")
}

// disruption returns why a pod is deleted, after a colon, or "" if nothing but a deletion is known.
func (s podStatus) disruption() string {
	for _, c := range s.Conditions {
		if c.Type == "DisruptionTarget" && c.Status == "True" {
			return ": " + strings.Trim(c.Reason+": "+c.Message, ": ")
		}
	}
	return ""
}

// waits returns the reason for which a pod does not run.
func (s podStatus) waits() string {
	scheduled := false
	for _, c := range s.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return "no node takes it: " + cmp.Or(c.Message, c.Reason)
		}
		scheduled = scheduled || c.Type == "PodScheduled"
	}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return w.Reason + " " + w.Message
		}
	}
	if scheduled && s.Phase == "Pending" {
		return "its node does not start it"
	}
	return "its phase is " + cmp.Or(s.Phase, "not known")
}
