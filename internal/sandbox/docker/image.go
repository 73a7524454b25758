package docker

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/containerd/errdefs"
)

// An image holds the properties of an image that a start needs.
type image struct {
	id      string // the ID, so that a new image with the same name has no effect
	arch    string
	volumes []string
}

// image inspects the image. It never pulls one.
func (l *Launcher) image(ctx context.Context, e *engine, f facts) (image, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := e.api.ImageInspect(ctx, l.opts.Image)
	if errdefs.IsNotFound(err) {
		return image{}, unavailable("the image %s is not on this docker engine (%s)", l.opts.Image, e.name).
			Try("run docker pull %s there, or set sandbox.docker.image", l.opts.Image).Because(err)
	}
	if err != nil {
		return image{}, e.explain(err)
	}
	img := image{id: found.ID, arch: found.Architecture}
	if found.Config != nil {
		for _, v := range slices.Sorted(maps.Keys(found.Config.Volumes)) {
			if v = path.Clean(v); path.IsAbs(v) && v != "/" {
				img.volumes = append(img.volumes, v)
			}
		}
	}
	if img.arch != "" && f.arch != "" && img.arch != f.arch {
		return image{}, unavailable("the image %s is for %s, but the docker engine at %s runs %s", l.opts.Image,
			img.arch, e.name, f.arch).
			Try("run docker pull --platform linux/%s %s there", f.arch, l.opts.Image)
	}
	return img, nil
}
