package app

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/desktop"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// openDesktop shows questions on the desktop of this machine, if the settings say so.
func (a *App) openDesktop() {
	if !a.loaded.Config.Approvals.Desktop {
		return
	}
	n := desktop.New(a.env.Getenv, a.log)
	a.onClose(n.Close)
	a.questions.Asked = func(id, agent, question string) {
		n.Show(a.scrub.Text(fmt.Sprintf("The agent %q asks: %s\nAnswer %s", agent, text.Clip(question, maxNoticed),
			a.placeToAnswer(id))))
	}
	a.approvals.Asked = func(id string, c approvals.Call) {
		shown := c.Show()
		n.Show(fmt.Sprintf("Allow? %s\n%s\nDecide %s", text.Clip(shown.Head(), maxNoticed), shown.Effect(), a.placeToAnswer(id)))
	}
}

// maxNoticed is how much of a question a notification shows, in bytes.
const maxNoticed = 160

// placeToAnswer returns where a person answers a question.
func (a *App) placeToAnswer(id string) string {
	if page := a.questionPage(id); page != "" {
		return "on " + page
	}
	return "in the client, or with mcp-tools ui"
}
