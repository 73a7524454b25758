package docker

import (
	"context"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// The labels of the containers.
const (
	labelOwner   = "mcp-tools.owner"   // the server process
	labelCreated = "mcp-tools.created" // creation time in RFC 3339
	labelData    = "mcp-tools.data"    // the data directory of the server
	labelFor     = "mcp-tools.for"     // the principal whose commands run in it
	labelMemory  = "mcp-tools.memory"  // the maximum of its memory in bytes
)

// orphanAge is the age of a container that was never started, and has no known owner, to count
// as an orphan: a start takes seconds.
const orphanAge = 10 * time.Minute

// reap removes orphaned containers of an engine and returns their number. The first
// connection to the engine does it.
func (l *Launcher) reap(ctx context.Context, e *engine) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true,
		Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
	if err != nil {
		return 0, e.explain(err)
	}
	var n int
	for _, c := range list {
		if !orphan(c, time.Now()) {
			continue
		}
		err := e.api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			return n, e.explain(err)
		}
		n++
		l.opts.Log.Info("removed a container without an owner", "engine", e.name, "container", c.ID[:12], "was",
			c.State)
	}
	return n, nil
}

// orphan reports whether a container has no running owner. A container whose owner may
// run on another machine is kept: it ends by itself when its owner ends, since its
// stdin closes.
func orphan(c container.Summary, now time.Time) bool {
	o, ok := parseOwner(c.Labels[labelOwner])
	state := unknown
	if ok {
		state = o.state()
	}
	switch c.State {
	case container.StateCreated:
		return state == dead || state == unknown && now.Sub(time.Unix(c.Created, 0)) > orphanAge
	case container.StateExited, container.StateDead:
		return state != living
	}
	return state == dead
}
