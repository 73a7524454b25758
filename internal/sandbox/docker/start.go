package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// start creates and starts a container. If it fails nothing is left.
func (l *Launcher) start(ctx context.Context, e *engine, p plan) (_ *link, err error) {
	if p.agent, err = l.agent(); err != nil {
		return nil, err
	}
	if p.user, err = chooseUser(e, p.facts, p); err != nil {
		return nil, err
	}
	if err := fits(e, p); err != nil {
		return nil, err
	}
	if err := l.sources(e, &p); err != nil {
		return nil, err
	}
	defer l.mounts.clear(p.ID) // the container has its own copies by then
	name := l.opts.Prefix + p.ID
	made, err := e.api.ContainerCreate(ctx, l.config(p), l.hostConfig(e, p), nil, nil, name)
	if err != nil {
		l.remove(e, name) // it may have been created after the timeout
		return nil, e.explainCreate(err)
	}
	for _, w := range made.Warnings {
		l.opts.Log.Warn("docker engine", "engine", e.name, "warning", w)
	}
	k, err := l.run(ctx, e, p, made.ID)
	if err != nil {
		l.remove(e, made.ID)
		return nil, err
	}
	e.count(1)
	return k, nil
}

// fits returns an error for plans that the engine would reject with a less clear one.
func fits(e *engine, p plan) error {
	switch {
	case p.ID == "":
		return tool.Errorf(tool.Internal, "the sandbox has no name")
	case p.agent.arch != "" && p.facts.arch != "" && p.agent.arch != p.facts.arch:
		return unavailable("the agent is for %s, but the docker engine at %s runs %s", p.agent.arch, e.name,
			p.facts.arch).
			Try("put a Linux build of mcp-tools for %s beside this program, named %s", p.facts.arch, AgentFile)
	case e.local && p.agent.mode.Perm()&0o001 == 0:
		return unavailable("the agent of docker sandboxes cannot be run by other users").Try("chmod a+rx the program")
	}
	return nil
}

// sources sets the source paths of the binds, with swapped owners where necessary.
func (l *Launcher) sources(e *engine, p *plan) error {
	if p.copies {
		return nil
	}
	p.from = make([]string, len(p.Binds))
	for i := range p.Binds {
		var err error
		if p.from[i], err = l.source(e, p, i); err != nil {
			l.mounts.clear(p.ID)
			return err
		}
	}
	if !e.local {
		return nil // the proxy is reached over the connection to the agent
	}
	p.proxy = p.Proxy
	if p.Proxy != "" && p.user.shift != nil {
		// Only root can use root's socket, so its owner is swapped too.
		if at, err := l.mounts.shifted(p.Proxy, p.user, false, p.ID, "proxy"); err == nil {
			p.proxy = at
		}
	}
	return nil
}

// source returns the source path of one bind.
func (l *Launcher) source(e *engine, p *plan, i int) (string, error) {
	b, name := p.Binds[i], strconv.Itoa(i)
	switch {
	case p.user.shift[i]:
		at, err := l.mounts.shifted(b.Host, p.user, b.NoLinks, p.ID, name)
		if err != nil && b.Write {
			return "",
				unavailable("the directory of %s belongs to root; commands do not run as root, "+
					"and it cannot be mapped to another user here", b.Inside).
					Try("ask the operator to give it to another user").Because(err)
		}
		if err == nil {
			return at, nil
		}
	case b.NoLinks && e.local && os.Geteuid() == 0:
		at, err := l.mounts.straight(b.Host, p.ID, name)
		if err != nil {
			return "", unavailable("links in the directory of %s cannot be kept from being followed", b.Inside).
				Try("ask the operator for a newer kernel").Because(err)
		}
		return at, nil
	}
	return b.Host, nil
}

// run attaches to a container and starts it.
func (l *Launcher) run(ctx context.Context, e *engine, p plan, id string) (*link, error) {
	if !e.local {
		if err := sendAgent(ctx, e, p.agent, id); err != nil {
			return nil, err
		}
	}
	if p.copies {
		if err := makeDirs(ctx, e, p.user, id); err != nil {
			return nil, err
		}
	}
	k, err := attach(ctx, e, id)
	if err != nil {
		return nil, e.explain(err)
	}
	if err := e.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		k.conn.Close()
		return nil, e.explainStart(err, p.agent)
	}
	k.dynamic = p.agent.dynamic
	k.holds = p.facts.holds(p.Limits)
	if !e.local || p.copies {
		k.carried = sandbox.Carried{Host: e.name, Proxy: p.Proxy}
	}
	if p.copies {
		k.carried.Binds, k.carried.Hidden, k.carried.Locked = p.Binds, p.Hidden, p.Locked
	}
	return k, nil
}

// attach connects to stdin and stdout. The client does not close the connection
// when ctx ends, so attach does.
func attach(ctx context.Context, e *engine, id string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := func() bool { return true }
	see := func(c net.Conn) {
		stop = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	}
	resp, err := e.api.ContainerAttach(context.WithValue(ctx, dialled{}, see), id,
		container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if !stop() {
		if err == nil {
			resp.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &link{e: e, id: id, conn: resp.Conn, from: resp.Reader, words: &sandbox.Tail{}}, nil
}

// remove removes a container that was not started.
func (l *Launcher) remove(e *engine, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// if this fails, the next server removes it
	_ = e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// makeDirs makes the directories of copies, in a volume that is removed with the container.
func makeDirs(ctx context.Context, e *engine, u user, id string) error {
	var buf bytes.Buffer
	t := tar.NewWriter(&buf)
	for _, name := range []string{"workspace/", "roots/"} {
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir, Uid: u.uid, Gid: u.gid}); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return e.explain(e.api.CopyToContainer(ctx, id, files, &buf, container.CopyToContainerOptions{}))
}

// sendAgent copies the program to a remote engine, into a volume that is removed with
// the container.
func sendAgent(ctx context.Context, e *engine, a agentFile, id string) error {
	f, err := os.Open(a.path)
	if err != nil {
		return unavailable("the agent of docker sandboxes cannot be read").Because(err)
	}
	defer f.Close()
	r, w := io.Pipe()
	go func() {
		t := tar.NewWriter(w)
		err := t.WriteHeader(&tar.Header{Name: "agent", Mode: 0o555, Size: a.size, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.Copy(t, io.LimitReader(f, a.size))
		}
		if err == nil {
			err = t.Close()
		}
		w.CloseWithError(err)
	}()
	err = e.api.CopyToContainer(ctx, id, ours, r, container.CopyToContainerOptions{})
	r.Close() // ends the goroutine that writes
	return e.explain(err)
}
