package skills

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the directories of skills, in addition to the workspace's directories and to
// published skills.
type Settings struct {
	Dirs []string `yaml:"dirs" form:"path"`
}

// Find returns the existing directories of skills: the directories of the settings, or else the shared
// directory of agents on this machine. Each has its name for file tools.
func (s Settings) Find(home string) []Dir {
	paths := s.Dirs
	if paths == nil && home != "" {
		paths = []string{filepath.Join(home, ".agents", "skills")}
	}
	var dirs []Dir
	for i, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		name := "agent_skills"
		if i > 0 {
			name = fmt.Sprintf("agent_skills_%d", i+1)
		}
		dirs = append(dirs, Dir{Path: path, Name: name})
	}
	return dirs
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
