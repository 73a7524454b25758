package agents

import (
	"embed"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/llm"
)

// Settings are the settings of agents, by name.
type Settings map[string]AgentSettings

// AgentSettings are the settings of an agent: its context files, and work that other agents
// delegate to it.
type AgentSettings struct {
	Kind       string   `yaml:"kind" enum:"open,predefined,evolving"`
	Files      string   `yaml:"files" form:"own path"`
	About      string   `yaml:"about" form:"label"`
	Model      string   `yaml:"model" form:"label"`
	DelegateTo []string `yaml:"delegate_to" form:"label"`
	Skills     []string `yaml:"skills" form:"skill"`
}

// SubagentSettings are the limits of subagents.
type SubagentSettings struct {
	Depth      int           `yaml:"depth" default:"1" min:"1" max:"5"`
	Running    int           `yaml:"running" default:"8" min:"1" max:"1000"`
	Children   int           `yaml:"children" default:"5" min:"1" max:"1000"`
	Tasks      int           `yaml:"tasks" default:"5" min:"1" max:"1000"`
	Turns      int           `yaml:"turns" default:"20" min:"1" max:"500"`
	Time       time.Duration `yaml:"time" default:"30m" min:"1s" max:"1d"`
	TreeTotal  int           `yaml:"tree_total" default:"100" min:"1" max:"1000000"`
	TreeBudget string        `yaml:"tree_budget" default:"5000000 tokens, $10" form:"budget"`
	TreeTime   time.Duration `yaml:"tree_time" default:"8h" min:"1s" max:"36500d"`
}

// Limits returns the limits of the settings.
func (c SubagentSettings) Limits() (Limits, error) {
	budget, err := llm.ParseAmount(c.TreeBudget)
	if err != nil {
		return Limits{}, fmt.Errorf("subtree_budget: %w", err)
	}
	return Limits{
		Depth: c.Depth, Running: c.Running, Children: c.Children, Turns: c.Turns, Time: c.Time,
		Tree: Tree{
			Children: c.TreeTotal, Tokens: int(budget.Tokens), Cost: budget.Money, Time: c.TreeTime,
		},
	}, nil
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
