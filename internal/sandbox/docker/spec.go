package docker

import (
	"path/filepath"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
)

const (
	ours       = "/.mcp" // directory in the container for the files of this program
	agentPath  = ours + "/agent"
	proxyPath  = ours + "/proxy.sock"
	home       = "/tmp/home"
	files      = "/files" // volume in the container for copies
	overhead   = 32       // threads of the agent: they count as processes
	leastBytes = 64 << 20
)

// A plan holds everything that a container is created from.
type plan struct {
	sandbox.Spec
	facts facts
	image image
	names names
	agent agentFile
	user  user
	from  []string // the source path of each bind
	// copies means that commands work on copies of the binds.
	copies bool
	proxy  string // the source path of the proxy's socket
}

// config returns the configuration of the container.
func (l *Launcher) config(p plan) *container.Config {
	entry := []string{agentPath, StageArg}
	switch {
	case p.proxy != "":
		entry = append(entry, "-proxy", proxyPath)
	case p.Proxy != "":
		entry = append(entry, "-proxy", agent.Stream)
	}
	c := &container.Config{
		Hostname:     "sandbox",
		User:         p.user.String(),
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    true,
		StdinOnce:    true, // the container ends when the server ends
		Image:        p.image.id,
		Entrypoint:   entry,
		WorkingDir:   "/",
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}},
		Labels: map[string]string{
			labelOwner:   l.self.String(),
			labelCreated: time.Now().UTC().Format(time.RFC3339),
			labelData:    l.opts.Data,
			labelFor:     p.Owner,
			labelMemory:  strconv.FormatInt(p.Limits.Memory, 10),
		},
	}
	if len(p.Binds) > 0 {
		c.WorkingDir = p.Binds[0].Inside
	}
	return c
}

// hostConfig returns the limits and rights of the container. Other options keep the
// defaults of the engine: its seccomp profile, and AppArmor if available.
func (l *Launcher) hostConfig(e *engine, p plan) *container.HostConfig {
	h := &container.HostConfig{
		LogConfig:      container.LogConfig{Type: "none"},
		NetworkMode:    network.NetworkNone,
		AutoRemove:     true,
		CapDrop:        []string{"ALL"},
		IpcMode:        container.IPCModePrivate,
		CgroupnsMode:   container.CgroupnsModePrivate,
		ReadonlyRootfs: true,
		SecurityOpt:    []string{"no-new-privileges:true"},
		Tmpfs:          map[string]string{"/tmp": scratch(p)},
		ShmSize:        leastBytes,
		UsernsMode:     "host", // files in the workspace keep their owners
		Resources:      resources(p),
		Mounts:         l.binds(e, p),
		MaskedPaths:    append(maskedByDefault(), p.names.hidden...),
		ReadonlyPaths:  append(readonlyByDefault(), p.names.locked...),
	}
	for _, v := range p.image.volumes {
		if _, ours := h.Tmpfs[v]; !ours && !allowedTarget(v) {
			h.Tmpfs[v] = scratch(p) // otherwise it would be a directory of the machine without a size limit
		}
	}
	return h
}

// scratch returns the mount options of a directory in memory. Programs in it can be
// executed. Its size is less than the memory limit: killing processes would not free
// its memory.
func scratch(p plan) string {
	size := p.Limits.Temp
	if p.facts.memory {
		size = p.Limits.Scratch()
	}
	if size <= 0 {
		size = leastBytes
	}
	return "rw,exec,nosuid,nodev,mode=1777,size=" + strconv.FormatInt(size, 10)
}

func resources(p plan) container.Resources {
	lim := p.Limits
	r := container.Resources{Ulimits: []*container.Ulimit{{Name: "core"}}}
	if lim.FileSize > 0 {
		r.Ulimits = append(r.Ulimits, &container.Ulimit{Name: "fsize", Soft: lim.FileSize, Hard: lim.FileSize})
	}
	if lim.Memory > 0 && p.facts.memory {
		r.Memory = lim.Memory
		if p.facts.swap {
			r.MemorySwap = lim.Memory
		}
	}
	if lim.Processes > 0 && p.facts.pids {
		most := int64(lim.Processes) + overhead
		r.PidsLimit = &most
	}
	return r
}

// binds returns the mounts of the container.
func (l *Launcher) binds(e *engine, p plan) []mount.Mount {
	var all []mount.Mount
	if e.local {
		all = append(all, bind(p.agent.path, agentPath, false))
	} else {
		all = append(all, mount.Mount{Type: mount.TypeVolume, Target: ours, VolumeOptions: &mount.VolumeOptions{
			NoCopy: true, Labels: map[string]string{labelOwner: l.self.String()},
		}})
	}
	if p.proxy != "" {
		all = append(all, bind(p.proxy, proxyPath, false))
	}
	if p.copies {
		return append(all, mount.Mount{Type: mount.TypeVolume, Target: files, VolumeOptions: &mount.VolumeOptions{
			NoCopy: true, Labels: map[string]string{labelOwner: l.self.String()},
		}})
	}
	for i, b := range p.Binds {
		all = append(all, bind(p.from[i], b.Inside, b.Write))
	}
	for _, a := range p.names.anchors {
		all = append(all, bind(filepath.Join(p.from[a.bind], a.rel), a.inside, true))
	}
	return all
}

// bind returns a mount of one directory without the mounts below it: those would stay writable
// below a read-only directory.
func bind(from, to string, write bool) mount.Mount {
	return mount.Mount{
		Type: mount.TypeBind, Source: from, Target: to, ReadOnly: !write,
		BindOptions: &mount.BindOptions{NonRecursive: true, Propagation: mount.PropagationRPrivate},
	}
}

// maskedByDefault returns the paths in /proc and /sys that engines hide. The list
// must be repeated to add more paths.
func maskedByDefault() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore", "/proc/keys",
		"/proc/key-users",
		"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/security",
	}
}

// readonlyByDefault returns the paths that engines mount read-only.
func readonlyByDefault() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}
