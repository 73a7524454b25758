package policy

// Rules is the policy section of the configuration. The zero Rules give the
// profile full under supervision.
type Rules struct {
	Profile  string   `yaml:"profile" default:"full" doc:"profile of callers without a chosen profile"`
	Autonomy Autonomy `yaml:"autonomy" default:"supervised" enum:"readonly,supervised,full" doc:"how much happens without asking a person; no profile goes beyond it"`

	Allow     List `yaml:"allow" doc:"only these tools, whatever the profile; an empty list allows none"`
	Deny      List `yaml:"deny" doc:"not these tools, unless also_allow adds them back"`
	DenyHard  List `yaml:"deny_hard" doc:"never these tools; nothing adds them back"`
	AlsoAllow List `yaml:"also_allow" doc:"these tools too, in every profile and in spite of allow and deny"`
	Subagents List `yaml:"subagents" doc:"tools that subagents may use although the built-in list for subagents denies them"`

	Profiles   map[string]ProfileRules  `yaml:"profiles" doc:"profiles of your own, by name"`
	ByProvider map[string]ProviderRules `yaml:"by_provider" doc:"rules for the callers of a model provider"`
	Agents     map[string]AgentRules    `yaml:"agents" doc:"rules for an agent, by its name"`
	Groups     map[string]List          `yaml:"groups" doc:"only these tools in a group chat, by its id"`
	Writers    map[string][]string      `yaml:"writers" doc:"only these users may change files and schedules and run commands in a group chat, by its id; * for all other group chats"`
}

// A List names tools: "exec", another system's name for it, "group:fs",
// "mcp:SERVER", "mcp:*", "risk:reads", or a pattern such as "read_*".
// A nil List is absent from the rules and restricts nothing. An empty List names
// no tools, so an empty allow allows nothing.
type List []string

// ProfileRules describe a profile that the operator defines.
type ProfileRules struct {
	Extends   string   `yaml:"extends" doc:"the profile to start from; without it the profile starts from allow"`
	Allow     List     `yaml:"allow" doc:"the tools of the profile; with extends, only these of it"`
	Deny      List     `yaml:"deny" doc:"not these, unless also_allow adds them back"`
	AlsoAllow List     `yaml:"also_allow" doc:"these in addition to the profile in extends"`
	Listed    List     `yaml:"listed" doc:"list only these; tool_search finds the others"`
	Autonomy  Autonomy `yaml:"autonomy" enum:"readonly,supervised,full" doc:"lowers the autonomy for this profile"`
}

// ProviderRules apply to callers with a model of one provider.
type ProviderRules struct {
	Profile string `yaml:"profile" doc:"instead of the default profile; a profile that was chosen is narrowed by it"`
	Allow   List   `yaml:"allow" doc:"only these tools"`
}

// AgentRules apply to one agent.
type AgentRules struct {
	Allow      List            `yaml:"allow" doc:"only these tools"`
	Deny       List            `yaml:"deny" doc:"not these tools, unless also_allow adds them back"`
	AlsoAllow  List            `yaml:"also_allow" doc:"these tools too"`
	ByProvider map[string]List `yaml:"by_provider" doc:"only these tools with a model of a provider, by its name"`
}

// Autonomy is how much may happen without an approval. The empty Autonomy leaves
// the choice to the level above.
type Autonomy string

// The levels, the strictest first.
const (
	ReadOnly   Autonomy = "readonly"   // reads; everything else is denied
	Supervised Autonomy = "supervised" // reads and writes; other calls need an approval
	Full       Autonomy = "full"       // everything
)

// rank returns the order of the level, 0 for an unknown one.
func (a Autonomy) rank() int {
	switch a {
	case ReadOnly:
		return 1
	case Supervised:
		return 2
	case Full:
		return 3
	}
	return 0
}

// verdict returns the verdict of the level on a risk. It is Deny for an invalid
// risk and for an unknown level.
func (a Autonomy) verdict(risk Risk) Verdict {
	if !risk.Valid() {
		return Deny
	}
	switch a {
	case ReadOnly:
		if risk == Reads {
			return Allow
		}
	case Supervised:
		if risk <= Writes {
			return Allow
		}
		return Ask
	case Full:
		return Allow
	}
	return Deny
}

// A limit is an autonomy and the path of the rule that sets it.
type limit struct {
	level Autonomy
	by    string
}

// lower returns the stricter of l and a. The rule by sets the level a.
func (l limit) lower(a Autonomy, by string) limit {
	if a.rank() != 0 && (l.level.rank() == 0 || a.rank() < l.level.rank()) {
		return limit{a, by}
	}
	return l
}
