package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/skills"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/skills/skill"
)

// findSkillDirs are the directories of skills that the operator has chosen, or else
// the one that agents on this machine share, as far as they are there. The file
// tools know them by a name of their own.
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

// skillRoots let the file tools and commands read what lies in these
// directories.
func skillRoots(dirs []skills.Dir) []workspace.ExtraRoot {
	var roots []workspace.ExtraRoot
	for _, d := range dirs {
		roots = append(roots, workspace.ExtraRoot{Name: d.Name, Path: d.Path})
	}
	return roots
}

// skillRoute shows the files of published skills in the workspace.
func (a *App) skillRoute() workspace.Route {
	served := skills.NewServed(a.store.Skills())
	return workspace.Route{Serves: served.Serves, Source: skillFiles{served}}
}

// skillFiles are published skills as the workspace has files.
type skillFiles struct{ skills.Served }

func (s skillFiles) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	list, err := s.Served.List(ctx, dir)
	return entries(list), err
}

// openSkills makes the library of skills, which looks at nothing yet.
func (a *App) openSkills(context.Context) error {
	a.skills = skills.New(skills.Options{
		Rows: publishedSkills{a.store.Skills(), a.unused}, Files: a.files, Dirs: a.skillDirs, Index: filepath.Join(a.data, "index", "skills"), Log: a.log,
	})
	a.onClose(a.skills.Close)
	return nil
}

// publishedSkills are there from the first time that somebody keeps something:
// many clients ask for a list at once, and that is no reason to make a store.
type publishedSkills struct {
	store.Skills
	unused func() bool
}

func (p publishedSkills) Stamp(ctx context.Context, o skill.Owner) (string, error) {
	if p.unused() {
		return "", nil
	}
	return p.Skills.Stamp(ctx, o)
}

func (p publishedSkills) List(ctx context.Context, o skill.Owner) ([]skill.Row, string, error) {
	if p.unused() {
		return nil, "", nil
	}
	return p.Skills.List(ctx, o)
}

func (p publishedSkills) Uses(ctx context.Context, o skill.Owner) ([]skill.Uses, error) {
	if p.unused() {
		return nil, nil
	}
	return p.Skills.Uses(ctx, o)
}
