package today

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Kind is the kind of an event of the timeline.
type Kind string

// The kinds.
const (
	Look     Kind = "look"    // read and searched, and nothing changed
	Files    Kind = "files"   // files changed
	Command  Kind = "command" // commands and scripts
	Web      Kind = "web"     // pages and hosts
	Made     Kind = "made"    // documents, pictures, sound and video made
	Message  Kind = "message" // sent to people and other sessions
	Question Kind = "question"
	Memory   Kind = "memory" // memories, knowledge and skills
	Agents   Kind = "agents" // subagents, teams and plans
	Schedule Kind = "schedule"
	Model    Kind = "model"    // requests to language models
	Operator Kind = "operator" // actions of operators
	Other    Kind = "other"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Look, Files, Command, Web, Made, Message, Question, Memory, Agents, Schedule, Model, Operator, Other}
}

// A phrase describes calls of a tool in the past tense: one call, with %s for its subject, and several, with %d for
// their number. An empty bare is the phrase of one call without a subject.
type phrase struct {
	kind            Kind
	one, bare, many string
}

// phrases has the tools of this program. Tools of operators and of other servers are called by their name.
func phrases() map[string]phrase {
	return map[string]phrase{
		"read_file":     {Look, "read %s", "read a file", "read %d files"},
		"list_files":    {Look, "listed %s", "listed the files", "listed %d directories"},
		"search":        {Look, "searched for %s", "searched in files", "searched in files %d times"},
		"code":          {Look, "asked about the code of %s", "asked about code", "asked about code %d times"},
		"glob":          {Look, "looked for files %s", "looked for files", "looked for files %d times"},
		"history":       {Look, "looked at the changes of %s", "looked at earlier changes", "looked at earlier changes %d times"},
		"read_document": {Look, "read the document %s", "read a document", "read %d documents"},
		"read_image":    {Look, "looked at the picture %s", "looked at a picture", "looked at %d pictures"},
		"read_audio":    {Look, "listened to %s", "listened to a recording", "listened to %d recordings"},
		"read_video":    {Look, "watched %s", "watched a video", "watched %d videos"},
		"read_result":   {Look, "read on in a long result", "read on in a long result", "read on in long results %d times"},
		"workspace_dir": {Look, "asked for a directory", "asked for a directory", "asked for a directory %d times"},
		"tool_search":   {Look, "looked for tools: %s", "looked for tools", "looked for tools %d times"},
		"datetime":      {Look, "looked at the clock", "looked at the clock", "looked at the clock %d times"},
		"data":          {Look, "worked on data", "worked on data", "worked on data %d times"},

		"session_status":   {Look, "looked at its session", "looked at its session", "looked at its session %d times"},
		"sessions_list":    {Look, "listed the sessions", "listed the sessions", "listed the sessions %d times"},
		"sessions_history": {Look, "read the messages of a session", "read the messages of a session", "read messages of sessions %d times"},
		"wait":             {Look, "waited for an event", "waited for an event", "waited for events %d times"},
		"process":          {Look, "looked after background commands: %s", "looked after background commands", "looked after background commands %d times"},

		"write_file":  {Files, "wrote %s", "wrote a file", "wrote files %d times"},
		"edit":        {Files, "edited %s", "edited a file", "edited files %d times"},
		"apply_patch": {Files, "applied a patch: %s", "applied a patch", "applied %d patches"},
		"undo":        {Files, "undid the change %s", "undid a change", "undid %d changes"},
		"todo_update": {Files, "updated the list of things to do", "updated the list of things to do", "updated the list of things to do %d times"},

		"exec":              {Command, "ran %s", "ran a command", "ran %d commands"},
		"credentialed_exec": {Command, "ran with credentials: %s", "ran a command with credentials", "ran %d commands with credentials"},
		"script":            {Command, "ran a script: %s", "ran a script", "ran %d scripts"},

		"web_fetch":    {Web, "read the page %s", "read a page", "read %d pages"},
		"web_search":   {Web, "searched the web for %s", "searched the web", "searched the web %d times"},
		"http_request": {Web, "sent a request: %s", "sent a request", "sent %d requests"},
		"browser":      {Web, "used the browser: %s", "used the browser", "used the browser %d times"},

		"write_document": {Made, "wrote the document %s", "wrote a document", "wrote %d documents"},
		"create_image":   {Made, "made a picture", "made a picture", "made %d pictures"},
		"create_audio":   {Made, "made a recording", "made a recording", "made %d recordings"},
		"create_video":   {Made, "made a video", "made a video", "made %d videos"},
		"tts":            {Made, "read a text aloud", "read a text aloud", "read %d texts aloud"},

		"message":       {Message, "sent a message to %s", "sent a message", "sent %d messages"},
		"contacts":      {Message, "looked after contacts: %s", "looked after contacts", "looked after contacts %d times"},
		"sessions_send": {Message, "sent a message to the session %s", "sent a message to a session", "sent %d messages to sessions"},
		"team_message":  {Message, "sent a message to its team: %s", "sent a message to its team", "sent %d messages to its team"},
		"ask_user":      {Question, "asked the user: %s", "asked the user", "asked the user %d questions"},

		"memory_search":          {Memory, "searched its memories for %s", "searched its memories", "searched its memories %d times"},
		"memory_get":             {Memory, "read the memory %s", "read a memory", "read %d memories"},
		"memory_store":           {Memory, "stored the memory %s", "stored a memory", "stored %d memories"},
		"memory_forget":          {Memory, "removed the memory %s", "removed a memory", "removed memories %d times"},
		"knowledge_graph_search": {Memory, "searched its knowledge for %s", "searched its knowledge", "searched its knowledge %d times"},
		"knowledge_graph_add":    {Memory, "added to its knowledge", "added to its knowledge", "added to its knowledge %d times"},
		"knowledge_graph_remove": {Memory, "removed from its knowledge", "removed from its knowledge", "removed from its knowledge %d times"},
		"skill_search":           {Memory, "looked for skills: %s", "looked for skills", "looked for skills %d times"},
		"use_skill":              {Memory, "used the skill %s", "used a skill", "used %d skills"},
		"copy_skill":             {Memory, "copied the skill %s", "copied a skill", "copied %d skills"},
		"publish_skill":          {Memory, "published the skill %s", "published a skill", "published %d skills"},
		"skill_manage":           {Memory, "managed skills: %s", "managed skills", "managed skills %d times"},

		"spawn":              {Agents, "started a subagent: %s", "started a subagent", "worked with subagents %d times"},
		"delegate":           {Agents, "delegated to %s", "delegated a task", "delegated %d tasks"},
		"acp_spawn":          {Agents, "worked with the agent program %s", "worked with an agent program", "worked with agent programs %d times"},
		"acp_permission":     {Agents, "answered an agent program: %s", "answered an agent program", "answered agent programs %d times"},
		"team_tasks":         {Agents, "worked on the team's tasks: %s", "worked on the team's tasks", "worked on the team's tasks %d times"},
		"plan_create":        {Agents, "wrote a plan: %s", "wrote a plan", "wrote %d plans"},
		"openai_compat_call": {Model, "asked a language model", "asked a language model", "asked a language model %d times"},
		"cron":               {Schedule, "scheduled jobs: %s", "looked after scheduled jobs", "looked after scheduled jobs %d times"},
		"tool_call":          {Other, "called the tool %s", "called a tool", "called tools %d times"},
	}
}

// progressive describes something that has not ended, from the words for its end: "running make" from "ran make".
func progressive(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	now, ok := map[string]string{
		"ran": "running", "read": "reading", "wrote": "writing", "made": "making", "sent": "sending", "searched": "searching",
		"asked": "asking", "used": "using", "waited": "waiting", "worked": "working", "started": "starting",
		"delegated": "delegating", "edited": "editing", "applied": "applying", "called": "calling", "looked": "looking",
	}[verb]
	if !ok {
		return "running: " + text
	}
	return now + " " + rest
}

// Known reports whether the timeline has words for a tool.
func Known(tool string) bool { _, ok := phrases()[tool]; return ok }

// phraseOf returns the words for a record that is not of a known tool.
func phraseOf(kind, tool string) phrase {
	tool = strings.ReplaceAll(tool, "%", "%%")
	switch kind {
	case "":
	case "model":
		return phrase{Model, "asked the language model " + tool, "", "asked the language model " + tool + " %d times"}
	case "operator", "console":
		return phrase{Operator, "operator: " + tool + " %s", "operator: " + tool, "operator: " + tool + " %d times"}
	case "resource", "prompt", "completion":
		return phrase{Look, "read the " + kind + " " + tool, "", "read the " + kind + " " + tool + " %d times"}
	case "task":
		return phrase{Look, "followed a task of " + tool, "", "followed tasks of " + tool + " %d times"}
	default:
		return phrase{Other, "did " + kind + " " + tool, "", "did " + kind + " " + tool + " %d times"}
	}
	return phrase{Other, "called " + tool + ": %s", "called " + tool, "called " + tool + " %d times"}
}

// say describes n calls, about one subject or several.
func (p phrase) say(n int, about []string) string {
	switch {
	case n == 1 && len(about) == 1 && strings.Contains(p.one, "%s"):
		return fmt.Sprintf(p.one, about[0])
	case n == 1 && p.bare != "":
		return strings.ReplaceAll(p.bare, "%%", "%")
	case n == 1:
		return strings.ReplaceAll(p.one, "%%", "%")
	}
	return fmt.Sprintf(p.many, n)
}

// some returns the first of a list, and how many more there are.
func some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + " and " + text.Plural(len(list)-most, "more", "more")
}
