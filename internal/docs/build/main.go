// Command build writes the documentation as a static site, for make docs. It runs in the root
// of the repository and takes the directory to write. Package docs decides about the look of
// pages.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/mcp-tools/mcp-tools/internal/docs"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: build DIRECTORY")
		os.Exit(2)
	}
	if err := build(os.DirFS("."), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(repository fs.FS, to string) error {
	pages, err := docs.Load(repository)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	err = fs.WalkDir(repository, "docs", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".md" {
			return err
		}
		files[name], err = fs.ReadFile(repository, name)
		return err
	})
	if err != nil {
		return err
	}
	return docs.Build(pages, files, to)
}
