package scrub

import (
	"regexp"
	"strings"
	"testing"
)

// In these tables «» stand around what is to be hidden, and %s for a secret
// drawn when the test runs.
var marked = regexp.MustCompile("«([^»]*)»")

func checkMarked(t *testing.T, s *Scrubber, lines []string) {
	t.Helper()
	r := dice(7)
	for _, line := range lines {
		for strings.Contains(line, "%s") {
			line = strings.Replace(line, "%s", draw(r, alnums, 24), 1)
		}
		in := marked.ReplaceAllString(line, "$1")
		want := marked.ReplaceAllString(line, Mask)
		got := s.Text(in)
		if got != want {
			t.Errorf("\n in   %s\n got  %s\n want %s", in, got, want)
		}
		if again := s.Text(got); again != got {
			t.Errorf("\n once  %s\n twice %s", got, again)
		}
	}
}

// checkBehindLeads also shows the lines as tools do.
func checkBehindLeads(t *testing.T, lines []string) {
	t.Helper()
	checkMarked(t, new(Scrubber), lines)
	for _, lead := range leads {
		var shown []string
		for _, line := range lines {
			shown = append(shown, behind(lead, line))
		}
		checkMarked(t, new(Scrubber), shown)
	}
}

func TestSettings(t *testing.T) {
	checkBehindLeads(t, []string{
		// the environment
		`DB_PASSWORD=«hunter22»`, `export API_KEY=«%s»`, `export API_KEY="«%s»"`, `AWS_SECRET_ACCESS_KEY=«%s»`,
		`MY_SECRET_VALUE=«abcdefgh12»`,
		`PRIVATE_STUFF=«abcd1234efgh»`, `STRIPE_KEY=«%s»`, `KEY_OF_HOUSE=«qwertzuiop»`,
		`CREDENTIAL_X=«some+thing/long»`, `GITHUB_PAT=«%s»`,
		`PASSWORD=«ab,cd;ef)gh»`, `A=1 DB_PASS=«s3cr3tpw» B=2`, `-e POSTGRES_PASSWORD=«correcthorse»`,
		`MYSQL_PWD=«s3cr3t!»`, `API_KEYS=«%s,%s»`,
		// several of a kind
		`password1=«%s»`, `DB_PASSWORD2=«hunter22»`, `API_KEY1=«%s»`, `api_key12=«%s»`, `secret1: «%s»`, `"apiKey2": "«%s»"`,
		`userPassword3 = "«hunter22x»"`, `TOKEN_12=«%s»`, `token2=«%s»`, `passwd1: «hunter22x»`,
		`SECRET_KEY_BASE=«%s»`, `VIRTUAL_HOST=«app.example.com»`, `VIRTUAL_PORT=«8080»`, `SENTRY_AUTH_TOKEN=«%s»`,
		`ENV DB_PASSWORD=«hunter22x»`,
		"SESSION_KEY=«%s»", `export TOKEN='«%s»'`, "DSN=«user:pw123@/db»",
		`DATABASE_URL=postgres://u:«p4ssw0rd»@db.example.com:5432/app`,
		`REDIS_URL=redis://:«p4ssw0rd»@cache:6379/0`,
		`MONGO_URI="mongodb+srv://app:«p4ssw0rd»@cluster0.mongodb.net/x?retryWrites=true"`,
		`MY_SECRET=«abc_def_ghi»`, `SECRET_KEY = «abcdefgh1»`, `api_key=«abcdefghijklmnop»`,
		`secret: «abcdefghijklmnop»`, `bearer=«abcdef1234»`,
		`secret = "«abcdefghijklmnop»"`, `password: «correcthorse»`, `token=«abcdefgh»`,
		// YAML, TOML, INI, properties
		`password: «hunter22»`, `  password: "«hunter22»"`, `  - password: '«hunter22»' # mine`,
		`password = "«hunter22»"`, `password=«hunter22»`,
		`spring.datasource.password=«hunter22»`, `token: «%s»`, `api_key: «%s»`, `apiKey: "«%s»"`, `secret = «%s»`,
		`client-key-data: «%s»`,
		"password: |\n  «hunter22xx»\nnext: 1", `db.password = «hunter22»`, `requirepass «hunter22»`,
		"stringData:\n  password: «hunter22»\n  user: x",
		"- name: DB_PASSWORD\n  value: «hunter22»", "- name: DB_PASSWORD\n  value: \"«hunter22»\"",
		// JSON and its relatives
		`{"password": "«hunter22»", "user": "x"}`, `{"token":"«%s»"}`, `{"apiKey" : "«%s»"}`,
		`{"client_secret": "«%s»"}`, `{\"password\": \"«hunter22»\"}`,
		`{"a": "{\"password\":\"«hunter22»\"}"}`, `{"a":"{\\\"password\\\":\\\"«hunter22»\\\"}"}`,
		`{'password': '«hunter22»'}`, `{"refreshToken":"«%s»"}`,
		`{"name": "DB_PASSWORD", "value": "«hunter22»"}`, `{"password":"«ab\"cd\\ef12»"}`, `{"passwd":"«hunter2x»"}`,
		`"args": ["--token", "«%s»"]`, `{"auths":{"ghcr.io":{"auth":"«%s»"}}}`,
		`{"password":"«correct-horse-battery-staple»"}`,
		`{"password": "«correct horse battery staple»"}`, `{"accessToken": "«%s»", "tokenType": "bearer"}`,
		// code
		`password := "«hunter22»"`, `const apiKey = '«%s»';`, `String password = "«hunter22»";`,
		`var token string = "«%s»"`, `let token: &str = "«%s»";`,
		`os.Setenv("API_TOKEN", "«%s»")`, `config["password"] = "«hunter22»"`, `:password => "«hunter22»"`,
		`'password' => '«hunter22»',`,
		`os.environ['SECRET_KEY'] = '«%s»'`, `connect(user="x", password="«hunter22»")`, `password: str = "«hunter22»"`,
		`password=b"«hunter22»"`,
		`headers.set("X-Api-Key", "«%s»")`, "const token = `«%s»`", `token ||= "«%s»"`, `secret := "«s3cr3t-value-9»"`,
		// commands
		`mysql -u root -p«hunter22» db`, `mysqldump --password=«hunter22» db`, `tool --password «hunter22» --verbose`,
		`tool --token=«%s»`,
		`tool --api-key «%s»`, `sshpass -p «hunter22» ssh host`, `sshpass -p '«hunter22»' ssh host`,
		`docker login -u x -p «hunter22» ghcr.io`, `redis-cli -a «hunter22» ping`,
		`curl -u user:«hunter22» https://example.com`, `curl --user 'user:«hunter22»' https://example.com`,
		`{"cmd":"curl -u user:«hunter22» https://example.com"}`,
		`machine example.com login me password «hunter22»`, "machine example.com\n  login me\n  password «hunter22»\n",
		`//registry.npmjs.org/:_authToken=«%s»`,
		`CREATE USER x WITH PASSWORD '«hunter22»';`,
		// queries, forms, connection strings
		`https://example.com/p?token=«%s»&x=1`, `https://example.com/p?access_token=«%s»#top`,
		`user=x&password=«hunter22»&y=1`,
		`https://a.blob.core.windows.net/c?sv=2022&sig=«%s%3D»&se=1`,
		`Server=x;User Id=y;Password=«hunter22»;Encrypt=true`,
		`DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«%s/%s==»;EndpointSuffix=core.windows.net`,
		`Endpoint=sb://x/;SharedAccessKey=«%s=»`,
		`<password>«hunter22»</password>`, `<apiKey>«%s»</apiKey>`, `{"u":"Password=«hunter22»;x=1"}`,
		"log: token=«%s», next", `level=info password=«hunter22» user=x`,
		`the encryption key is «0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef»`,
	})
}

func TestHeaders(t *testing.T) {
	pair := "«" + "dXNlcjpodW50ZXIyMg==" + "»"
	checkBehindLeads(t, []string{
		`Authorization: Bearer «%s»`, `authorization: bearer «%s»`, `Authorization: Basic ` + pair,
		`Authorization: token «%s»`, `Authorization: «%s»`,
		`Proxy-Authorization: Basic ` + pair, `curl -H "Authorization: Bearer «%s»" https://x`,
		`curl -H 'Authorization: Bearer «%s»' https://x`,
		`{"Authorization": "Bearer «%s»"}`, `{\"Authorization\": \"Bearer «%s»\"}`, `{'Authorization': 'Bearer «%s»'}`,
		`Authorization = "Bearer «%s»"`,
		`req.Header.Set("Authorization", "Bearer «%s»")`, `req.Header.Add("X-Api-Key", "«%s»")`,
		`"Authorization: Bearer «%s»\r\n"`,
		`Authorization: Digest «username="x", realm="y", nonce="z", response="0123456789abcdef"»`,
		`Authorization: Bot «%s»`,
		`Authorization: AWS4-HMAC-SHA256 «Credential=x/2020/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0123»`,
		`X-Api-Key: «%s»`, `x-api-key: «%s»`, `X-Auth-Token: «%s»`, `PRIVATE-TOKEN: «%s»`,
		`curl -H 'X-Api-Key: «%s»' x`, `curl -H "X-Vault-Token: «%s»" x`,
		`Cookie: «session=%s; theme=dark»`, `Set-Cookie: sid=«%s»; Path=/; HttpOnly`,
		`{"Cookie": "«session=%s; theme=dark»"}`, `curl -H 'Cookie: «session=%s»' x`,
		`sent Bearer «%s» to it`, `Basic ` + pair, `wget --header="Authorization: Bearer «%s»" x`,
		`-H "Authorization: Bearer «%s»"`,
		`Ocp-Apim-Subscription-Key: «%s»`, `[("Authorization", "Bearer «%s»")]`,
	})
}

func TestAddresses(t *testing.T) {
	var lines []string
	for _, scheme := range []string{"postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis", "rediss",
		"amqp", "amqps", "mssql",
		"clickhouse", "https", "http", "ftp", "ldap", "smtp", "nats", "cassandra", "socks5", "jdbc:mysql",
		"postgresql+asyncpg"} {
		lines = append(lines, scheme+`://user:«p4ss»@host.example.com:1234/db?x=1`, `"`+scheme+
			`://user:«p4ss»@host/db"`)
	}
	checkMarked(t, new(Scrubber), append(lines, []string{
		`postgres://user:«p@ss/w0rd#1»@host/db`, `redis://:«p4ss»@host`, `amqp://u:«%2Fpw%40»@host/%2f`,
		`user:«p4ssw0rd»@tcp(127.0.0.1:3306)/db`,
		`https://x-access-token:«abc»@github.com/a/b.git`, `git clone https://«%s»@host/x`,
		`{"u":"http:\/\/user:«p4ss»@host\/"}`,
		`see <https://u:«p4ss»@h/>`, `mongodb://u:«p4ss»@h1:27017,h2:27017/db`,
		"a https://u:«one»@h b https://u:«two»@h",
		`https://hooks.slack.com/services/«T00000000/B00000000/%s»`,
		`https://discord.com/api/webhooks/«123456789012345678/%s%s%s»`,
	}...))
}

// TestHarmless has what must stay as it is.
func TestHarmless(t *testing.T) {
	sha := strings.Repeat("0123456789abcdef", 4)
	checkBehindLeads(t, []string{
		// code
		`token := next()`, `password: string`, `key = parser.next()`, `if token == "" {`, `secret = os.Getenv("X")`,
		`token = await getToken();`,
		`maxTokens: 4096`, `monkey = something`, `tokenizer=AutoTokenizer`, `keyboard: qwerty-layout`,
		`const token = process.env.TOKEN`,
		`password = os.environ["DB_PASSWORD"]`, `token: Token;`, `private key: string;`,
		`func (t *Token) String() string {`, `token, err := jwt.Parse(raw)`,
		`self.password = password`, `password=password`, `password=user_password, token=token)`, `secret: &Secret{}`,
		`key := "user:" + id`,
		`case "token":`, `type: "password"`, `<input type="password" name="password">`,
		`"password": {"type": "string"}`, `required: ["password", "username"]`,
		`"required": ["token", "api_key"]`, `apiKey: config.get("apiKey")`, `API_KEY = config("API_KEY")`,
		`SECRET_KEY = os.environ.get("SECRET_KEY")`,
		`token.Type == scanner.Ident`, `for token in tokens:`, `return token + 1`, `this.token = null;`,
		`password?: string`, `secret!: string`,
		`"token=" + token + "&x=1"`, `fmt.Sprintf("token=%d", n)`, `"Bearer " + token`,
		`"Authorization", "Bearer "+token`,
		`req.Header.Get("Authorization")`, `authorization: authHeader,`, `bearer authentication is required here`,
		`token::Kind`, `Token: lexer.Token,`,
		`@Value("${db.password}") String password`, `key_id = 12`, `primary_key=True`, `foreign_key: user_id`,
		`cache_key = f"user:{uid}:profile_v2"`,
		`public_key = "ssh-ed25519"`, `keyFile: "/etc/ssl/private/key.pem"`,
		`token_url = "https://example.com/oauth/token"`,
		`nextPageToken: "abc123def456ghi789"`, `"progressToken": "abc123def456"`,
		`"next_token": "AAAA1111BBBB2222CCCC"`, `stop_token = "<|endoftext|>"`,
		`token = tokens[i+1]`, `token = a + b`, `password = input("Enter your password: ")`,
		`password: "Enter your password"`, `err = errors.New("bad token: " + s)`,
		`TOKEN_TYPE=bearer`, `SECRET_NAME=prod-db-credentials`, `KEY_PATH=/etc/ssl/key.pem`,
		`VIRTUAL_ENV=/home/x/.venv`, `SSH_KEY_FILE=~/.ssh/id_rsa`,
		`#define KEY_UP 0x26`, `credentials: "same-origin"`, `credentials: "include"`, `"auth": "none"`,
		`basic authentication`, `Basic Authentication`,
		`class Password(Field): pass`, `except KeyError: pass`, `--- PASS: TestThing/one (0.00s)`,
		`x = y if key else z`,
		// placeholders
		`password=${DB_PASSWORD}`, `TOKEN=$TOKEN`, `TOKEN="$TOKEN"`, `token: <your-token>`, `api_key: YOUR_API_KEY`,
		`password: xxxx`, `password: ********`,
		`token=***`, `Authorization: Bearer <token>`, `Authorization: Bearer ${TOKEN}`, `Authorization: Bearer $TOKEN`,
		`password: {{ .Values.password }}`,
		`password: changeme`, `API_KEY=your-api-key-here`, `password: !vault`, `token: %TOKEN%`, `password: null`,
		`token=undefined`, `postgres://user:${PASS}@host/db`,
		`postgres://host/db`, `postgres://user@host/db`, `https://user:<password>@host`, `secret: [REDACTED]`,
		`token: [REDACTED:token]`, `host: [SERVER_IP]`,
		`ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`, `sk-xxxxxxxxxxxxxxxxxxxxxxxx`, `AKIAXXXXXXXXXXXXXXXX`,
		`{"password": 12345678, "API_TOKEN": 123456789012345678901234}`, `{"VIRTUAL_PORT": 8080}`,
		`http://user:password@host is the form`, `the --username and --password options`, `I<pass> because`,
		`TypeError("pwd: expected bytes")`,
		`PWD=/workspace`, `declare -x OLDPWD="/srv"`, `PWD=/`,
		// numbers and names that look drawn by lot
		`123e4567-e89b-42d3-a456-426614174000`, `id: 123e4567-e89b-42d3-a456-426614174000`,
		`commit 0123456789abcdef0123456789abcdef01234567`,
		`sha256:` + sha, `image: nginx@sha256:` + sha, sha + `  file.tar.gz`,
		`"integrity": "sha512-q1w2e3r4t5y6u7i8o9p0/A+SDFghjKLzxcvBNM==",`,
		`golang.org/x/sys v0.49.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`, `v1.2.3-rc.1+build.5`,
		`checksum = "` + sha + `"`, `etag: "` + sha + `"`,
		`key checksum ` + sha, `me@example.com`, `git@github.com:org/repo.git`, `ssh://git@github.com/org/repo`,
		`https://example.com/@scope/pkg@1.2.3`,
		`npm install @scope/pkg@1.2.3`, `npm_config_registry=https://registry.npmjs.org`, `http://localhost:8080/a:b@c`,
		`data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA`,
		`12:34:56.789 main.go:123: done`, `task-runner-is-a-name-with-many-parts`, `sk-folding-cube-animation-wrapper`,
		`desk-0123456789`, `eyJust a word`,
		// prose
		`the password: it is secret`, `Passwords must have 8 characters.`, `Your token has expired.`,
		`password: incorrect`, `Token: expired`, `secret: missing`,
		`The key = value syntax is simple.`, `See the bearer of bad news.`, `Set the password, then the token.`,
		`| password | string | required |`,
		`"password": "Contraseña"`, `"password": "Mot de passe"`, `## Token: what it is`, `key takeaways: none`,
	})
}

// TestRareForms has credentials in forms that attackers found shown.
func TestRareForms(t *testing.T) {
	checkMarked(t, new(Scrubber), []string{
		"Password: «pchohGJRbMYt»", "access_token:«gSffWRQmvSZa»", "password = «AUHNCNKoIShT»",
		"finicityToken=«qsjhivnjjxtogy2zj4my»",
		`System.setProperty("FINICITY_TOKEN", "«nyqujhivnjjxtogyzj2on»")`,
		`<add key="ClearTextPassword" value="«Hunter22x»"/>`, "<apiToken>\n  «%s»\n</apiToken>",
		`$password .= "«hunter22x»";`, "API_KEY ::= «%s»", "API_KEY :::= «%s»",
		"curl https://api.stripe.com/v1/charges -u «%s»:", "curl https://example.com \\\n  --user me:«hunter22»",
		"CREATE USER 'x'@'%' IDENTIFIED BY '«hunter22»';", "alter user x identified with caching_sha2 by '«hunter22»'",
		"db.example.com:5432:app:ann:«hunter22»\n", "localhost:5432:*:ann:«hunter22»",
		"set -x API_KEY «%s»", "setenv API_KEY «%s»", "ENV API_KEY «%s»", "pass: «hunter22»",
		"variable \"db_password\" {\n  type    = string\n  default = \"«hunter22»\"\n}",
		`{"kty":"EC","crv":"P-256","d":"«%s%s»","x":"abc"}`,
		"export OP_SECRET_KEY; «A3-ABCDEF-GHJKLM-NPQRS-TVWXY-Z2345-6789A»",
		"«AKIAIOSFODNN7EXAMPL3,wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYx1»",
		"error: missing-VIRTUAL_HOST_X=«value-1»", "open ./no-such-VIRTUAL_HOST_X=«value-1»: no such file",
	})
}

// TestHarmlessNames has texts that look like credentials and are none.
func TestHarmlessNames(t *testing.T) {
	for _, text := range []string{
		"hf_requiredCharacteristicTypesForDisplayMetadata", "https://example.com/xoxo-indieweb-1.jpg",
		"https://example.com/ico-7a38c1d2e3f4a5b6c7d8e9f0a1b2c3d4.png", "xoxb-my-bot-token",
		"curl -u username:password https://example.com", "privateKey: ecTestKey256,",
	} {
		if got := new(Scrubber).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
