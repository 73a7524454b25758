package config

// Web says what the tools of the web may reach, and how.
type Web struct {
	Allow       []string        `yaml:"allow" form:"hosts" doc:"Hosts that may be reached, such as example.org, *.example.org or *:443. Empty: all that are public."`
	Deny        []string        `yaml:"deny" form:"hosts" doc:"Hosts that nobody reaches; they come before all others."`
	Private     []string        `yaml:"private" form:"hostport" doc:"Hosts with a port that may be at an address of the inside network, such as wiki.corp:8080: exactly as they are asked for."`
	Benchmark   bool            `yaml:"benchmark_addresses" default:"false" doc:"Reach 198.18.0.0/15, where some proxies put all hosts."`
	Methods     []string        `yaml:"methods" default:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE" doc:"Methods that http_request may use."`
	Profiles    []WebProfile    `yaml:"profiles" doc:"Other choices for callers with certain profiles."`
	Proxy       string          `yaml:"proxy" restart:"true" form:"proxy" doc:"Proxy that all requests go through: http, https, socks5 or socks5h. All but socks5 look names up and choose addresses themselves. Empty: none, whatever the environment says."`
	Agent       string          `yaml:"user_agent" restart:"true" form:"label" doc:"How requests introduce themselves. Empty: as mcp-tools."`
	Robots      bool            `yaml:"robots" default:"false" doc:"Heed robots.txt when a page is fetched."`
	MaxBytes    Size            `yaml:"max_bytes" default:"10MiB" min:"64KiB" max:"256MiB" doc:"Longest page that is fetched."`
	Downloads   Size            `yaml:"downloads" default:"1GiB" min:"64KiB" max:"16TiB" doc:"Longest file that is downloaded into the workspace."`
	CacheBytes  Size            `yaml:"cache_bytes" restart:"true" default:"256MiB" min:"0" max:"1TiB" doc:"Most bytes of pages that are kept on the disk. 0: none."`
	Search      WebSearch       `yaml:"search" restart:"true" doc:"Engines that search the web."`
	Credentials []WebCredential `yaml:"credentials" restart:"true" doc:"Credentials that http_request may send, without the model ever seeing them."`
	Browser     Browser         `yaml:"browser" restart:"true" doc:"The browser."`
}

// A WebProfile is for callers with one policy profile. What it does not say is
// as for all.
type WebProfile struct {
	Profile string   `yaml:"profile" form:"label" required:"true" doc:"Profile of the policy."`
	Allow   []string `yaml:"allow" form:"hosts" doc:"Hosts that may be reached, instead of those for all."`
	Deny    []string `yaml:"deny" form:"hosts" doc:"Hosts that may not, beside those for all."`
	Private []string `yaml:"private" form:"hostport" doc:"Hosts of the inside network, beside those for all."`
	Methods []string `yaml:"methods" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE" doc:"Methods of http_request, instead of those for all."`
}

// WebSearch says which engines are asked, in which order.
type WebSearch struct {
	Engines []string       `yaml:"engines" form:"name" doc:"Engines in the order in which they are asked until one answers: brave, tavily, exa, jina, searxng, duckduckgo, or one of custom. Empty: those that are set up, then duckduckgo."`
	Brave   Secret         `yaml:"brave" form:"secret" doc:"Key of the Brave Search API."`
	Tavily  Secret         `yaml:"tavily" form:"secret" doc:"Key of Tavily."`
	Exa     Secret         `yaml:"exa" form:"secret" doc:"Key of Exa."`
	Jina    Secret         `yaml:"jina" form:"secret" doc:"Key of Jina."`
	SearXNG string         `yaml:"searxng" form:"url" doc:"Where a SearXNG is that answers in JSON, such as http://localhost:8888."`
	Custom  []SearchEngine `yaml:"custom" doc:"Other engines that answer in JSON."`
	Age     Duration       `yaml:"age" default:"15m" min:"0" max:"1d" doc:"How long results are kept for the same question."`
}

// A SearchEngine is one that answers in JSON. In its URL and body stand {query},
// {count}, {language}, {country} and {freshness}.
type SearchEngine struct {
	Name      string            `yaml:"name" form:"name" required:"true" doc:"What to call it."`
	URL       string            `yaml:"url" form:"url" required:"true" doc:"Where it is asked, such as https://api.example.com/search?q={query}&n={count}."`
	Body      string            `yaml:"body" doc:"JSON to send, with the same words in braces within its texts. Empty: a GET request."`
	Headers   map[string]string `yaml:"headers" keys:"header" form:"label" doc:"Headers that are no secrets."`
	Key       Secret            `yaml:"key" form:"secret" doc:"Secret that it wants."`
	KeyHeader string            `yaml:"key_header" form:"header" doc:"Header that the key goes into. Empty: Authorization, after Bearer."`
	Results   string            `yaml:"results" form:"label" required:"true" doc:"Where the list of results is in the answer, such as data.items."`
	Title     string            `yaml:"title" form:"label" doc:"Where the title is in a result. Empty: title."`
	Link      string            `yaml:"link" form:"label" doc:"Where the URL is in a result. Empty: url."`
	Snippet   string            `yaml:"snippet" form:"label" doc:"Where the text is in a result. Empty: snippet."`
	Date      string            `yaml:"date" form:"label" doc:"Where the date is in a result."`
}

// A WebCredential is what requests to certain hosts are sent with.
type WebCredential struct {
	Name      string   `yaml:"name" form:"name" required:"true" doc:"What the model calls it, as auth_profile."`
	Hosts     []string `yaml:"hosts" form:"hosts" required:"true" doc:"Hosts that may get it, such as api.example.com or *.example.com:8443; without a port, at port 443. Only over HTTPS, but for those of web.private."`
	Paths     []string `yaml:"paths" form:"label" doc:"Beginnings of the paths that it may be sent to, such as /v1/. Empty: all."`
	Secret    Secret   `yaml:"secret" form:"secret" required:"true" doc:"Where it is."`
	As        string   `yaml:"as" enum:"bearer,basic,header" doc:"How it is sent: after Bearer in Authorization, which is usual, after Basic for one that reads user:password, or alone in a header."`
	Header    string   `yaml:"header" form:"header" doc:"The header, for as: header."`
	Methods   []string `yaml:"methods" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE" doc:"Methods that it may be used with. Empty: GET and HEAD."`
	Profiles  []string `yaml:"profiles" form:"label" doc:"Profiles whose callers may use it. Empty: all."`
	Agents    []string `yaml:"agents" form:"label" doc:"Agents that may use it. Empty: all."`
	Redirects bool     `yaml:"redirects" doc:"Follow redirects within the same host when it is used."`
}

// Browser says which browser is driven, and how many.
type Browser struct {
	Path     string   `yaml:"path" form:"path" doc:"Chromium or Chrome. Empty: the one that is found."`
	Sessions int      `yaml:"sessions" default:"8" min:"0" max:"1000" doc:"Most browsers at a time. 0: no browser."`
	Idle     Duration `yaml:"idle" default:"10m" min:"10s" max:"1d" doc:"A browser that nobody has used for so long is closed."`
	Insecure bool     `yaml:"without_sandbox" default:"false" doc:"Start Chromium even where its own sandbox does not work."`
}
