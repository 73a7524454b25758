package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

// findSkillDirs returns the directories of skills that exist: those of the
// settings, or else the one that agents on this machine share. Each has the name
// under which the file tools see it.
func (a *App) findSkillDirs(home string) []skills.Dir {
	paths := a.loaded.Config.Skills.Dirs
	if paths == nil && home != "" {
		paths = []string{filepath.Join(home, ".agents", "skills")}
	}
	var dirs []skills.Dir
	for i, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		name := "agent_skills"
		if i > 0 {
			name = fmt.Sprintf("agent_skills_%d", i+1)
		}
		dirs = append(dirs, skills.Dir{Path: path, Name: name})
	}
	return dirs
}

// skillRoots returns the roots that let the file tools and commands read these directories.
func skillRoots(dirs []skills.Dir) []workspace.ExtraRoot {
	var roots []workspace.ExtraRoot
	for _, d := range dirs {
		roots = append(roots, workspace.ExtraRoot{Name: d.Name, Path: d.Path})
	}
	return roots
}

// skillRoute serves the files of published skills in the workspace.
func (a *App) skillRoute() workspace.Route {
	served := skills.NewServed(a.store)
	return workspace.Route{Serves: served.Serves, Source: served}
}

// openSkills makes the library of skills, which opens nothing yet.
func (a *App) openSkills(context.Context) error {
	a.skills = skills.New(skills.Options{
		Store: a.store, Unused: a.unused, Files: a.files, Dirs: a.skillDirs,
	})
	return nil
}
