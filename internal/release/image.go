package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const imageUser = 65532

// images writes the images as archives of an OCI layout, with all platforms of Linux. The
// small one has the program and certificates of authorities.
func (r *release) images() error {
	if err := r.image("image", func(string) ([][]entry, error) { return [][]entry{certificates()}, nil }); err != nil {
		return err
	}
	if !r.debian {
		return nil
	}
	return r.image("image-full", r.debianLayers)
}

// image writes an image with the layers of base below the program. They may depend on the
// processor.
func (r *release) image(name string, base func(arch string) ([][]entry, error)) error {
	index := v1.ImageIndex(empty.Index)
	index = mutate.IndexMediaType(index, types.OCIImageIndex)
	found := false
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		found = true
		layers, err := base(p.arch)
		if err != nil {
			return err
		}
		img, err := r.platformImage(p, append(layers, programLayer(p)))
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.arch}},
		})
	}
	if !found {
		return nil
	}
	dir := filepath.Join(r.work, name)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": image + ":" + r.version,
	}))
	if err != nil {
		return err
	}
	all, err := directory(dir)
	if err != nil {
		return err
	}
	return create(r.path("mcp-tools_"+r.version+"_"+name+".tar"), func(w io.Writer) error {
		return writeTar(w, r.date, all)
	})
}

func (r *release) platformImage(p program, layers [][]entry) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, all := range layers {
		var b bytes.Buffer
		if err := writeTar(&b, r.date, all); err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(b.Bytes())), nil
		}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "make release"},
		})
		if err != nil {
			return nil, err
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", p.arch, v1.Time{Time: r.date}
	file.Config = v1.Config{
		User: "65532:65532", WorkingDir: "/workspace", Entrypoint: []string{"/usr/bin/mcp-tools"},
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/data", "MCP_TOOLS_DATA=/data", "MCP_TOOLS_WORKSPACE=/workspace",
		},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels: map[string]string{
			"io.modelcontextprotocol.server.name": "io.github.mcp-tools/mcp-tools",
			"org.opencontainers.image.title":      "mcp-tools", "org.opencontainers.image.description": about,
			"org.opencontainers.image.source": home, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "MIT",
		},
	}
	return mutate.ConfigFile(img, file)
}

// programLayer has the program, and the directories that its user may write to.
func programLayer(p program) []entry {
	return []entry{
		{name: "usr/bin/mcp-tools", path: p.path},
		{name: "data", dir: true, mode: 0o700, owner: imageUser},
		{name: "workspace", dir: true, owner: imageUser},
	}
}

// certificates returns the certificates of authorities, and other files that programs expect of
// a system.
func certificates() []entry {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
	}
	return slices.Concat([]entry{
		{name: "etc/ssl/certs/ca-certificates.crt", data: b.Bytes()},
		{name: "tmp", dir: true, mode: 0o777 | fs.ModeSticky},
	}, users())
}

func users() []entry {
	return []entry{
		{name: "etc/passwd", data: []byte("root:x:0:0:root:/root:/usr/sbin/nologin\n" +
			"mcp-tools:x:65532:65532:mcp-tools:/data:/usr/sbin/nologin\n")},
		{name: "etc/group", data: []byte("root:x:0:\nmcp-tools:x:65532:\n")},
	}
}

// directory returns the files of a directory as entries.
func directory(dir string) (all []entry, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, entry{name: name, path: filepath.Join(dir, name), mode: 0o644})
		}
		return err
	})
	return all, err
}
