package users

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
	"golang.org/x/crypto/argon2"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

const (
	minPassword = 10
	maxPassword = 1024 // bytes
	// period is the time of one code, and skew the number of codes before and after it that count too:
	// clocks may differ by a minute.
	period = 30 * time.Second
	skew   = 2
)

// HasPasswords reports whether people can set a password.
func (u *Users) HasPasswords() bool { return u.Seal != nil }

// Sealed returns the data of users that a reset of the vault loses: codes. A user without a code cannot log in with a
// password until she has set one again, with a link of an operator.
func Sealed() vault.Dependents {
	return vault.Dependents{Lost: func(ctx context.Context, s *store.Store) (string, error) {
		n := 0
		err := s.Row(ctx, "SELECT count(*) FROM account WHERE totp <> ''", nil, &n)
		if err != nil || n == 0 {
			return "", err
		}
		return text.Plural(n, "login with a password and a code", "logins with a password and a code") +
			" (mcp-tools users link shows a new link)", nil
	}}
}

// A Sheet is the data for a person to add the codes to her phone.
type Sheet struct {
	Secret string // to be typed
	URL    string // for the picture
	Key    *otp.Key
}

// BeginPassword returns the secret of codes for the user of a one-time link. The same link returns the
// same secret.
func (u *Users) BeginPassword(ctx context.Context, secret string) (Sheet, error) {
	one, err := u.Invited(ctx, secret)
	if err != nil {
		return Sheet{}, err
	}
	key, err := u.pendingKey(ctx, secret, one)
	if err != nil {
		return Sheet{}, err
	}
	return Sheet{Secret: key.Secret(), URL: key.URL(), Key: key}, nil
}

// pendingKey returns the secret of codes of a link. The first call makes it.
func (u *Users) pendingKey(ctx context.Context, secret string, one User) (*otp.Key, error) {
	if u.Seal == nil {
		return nil, errors.New("passwords need a vault")
	}
	_, host, err := u.host()
	if err != nil {
		host = "mcp-tools"
	}
	var sealed string
	if err := u.DB.Row(ctx, "SELECT totp FROM account_link WHERE hash = $1", []any{Digest(secret)}, &sealed); err != nil {
		return nil, err
	}
	if sealed != "" {
		text, err := u.Seal.Open(ctx, "totp "+one.ID, sealed)
		if err != nil {
			return nil, err
		}
		return otp.NewKeyFromURL(string(text))
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: host, AccountName: one.Name, Period: uint(period.Seconds())})
	if err != nil {
		return nil, err
	}
	if sealed, err = u.Seal.Seal(ctx, "totp "+one.ID, []byte(key.URL())); err != nil {
		return nil, err
	}
	var n int64
	err = u.DB.Update(ctx, func(t *store.Tx) (err error) {
		n, err = t.Exec("UPDATE account_link SET totp = $2 WHERE hash = $1 AND totp = ''", Digest(secret), sealed)
		return err
	})
	if err == nil && n == 0 { // another request was faster
		return u.pendingKey(ctx, secret, one)
	}
	return key, err
}

// FinishPassword sets the password of the user of a one-time link and uses it up, if the code shows that
// she has the secret of codes.
func (u *Users) FinishPassword(ctx context.Context, secret, password, code string) (one User, err error) {
	if one, err = u.Invited(ctx, secret); err != nil {
		return one, err
	}
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		return one, tool.Errorf(tool.Invalid, "the password has %d characters, the minimum is %d", n, minPassword)
	case len(password) > maxPassword:
		return one, tool.Errorf(tool.Invalid, "the password is longer than %d bytes", maxPassword)
	case strings.EqualFold(password, one.Name):
		return one, tool.Errorf(tool.Invalid, "the password is the name")
	}
	key, err := u.pendingKey(ctx, secret, one)
	if err != nil {
		return one, err
	}
	now, err := u.now(ctx)
	if err != nil {
		return one, err
	}
	step, ok := stepOf(key.Secret(), code, now)
	if !ok {
		return one, tool.Errorf(tool.Invalid, "the code is wrong").Try("type the code that the phone shows now; its clock must be right")
	}
	hashed, err := u.hash(ctx, password)
	if err != nil {
		return one, err
	}
	return one, u.DB.Update(ctx, func(t *store.Tx) error {
		var sealed string
		if err := t.Row("SELECT totp FROM account_link WHERE hash = $1", []any{Digest(secret)}, &sealed); err != nil {
			return errLink
		}
		account, err := spend(t, secret)
		if err == nil {
			_, err = t.Exec("UPDATE account SET password = $2, totp = $3, totp_step = $4 WHERE id = $1", account, hashed, sealed,
				step)
		}
		return err
	})
}

// now returns the time of the database: codes do not depend on the clocks of servers.
func (u *Users) now(ctx context.Context) (time.Time, error) {
	var ms int64
	err := u.DB.Row(ctx, "SELECT {{now}}", nil, &ms)
	return store.FromMillis(ms), err
}

// stepOf returns the number of the period of a code.
func stepOf(secret, code string, now time.Time) (step int64, ok bool) {
	code = strings.Join(strings.Fields(code), "")
	current := now.Unix() / int64(period.Seconds())
	for _, d := range []int64{0, -1, 1, -2, 2} {
		if d < -skew || d > skew {
			continue
		}
		valid, err := hotp.ValidateCustom(code, uint64(current+d), secret,
			hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err == nil && valid {
			return current + d, true
		}
	}
	return 0, false
}

// errWrong is the answer to every wrong login: it does not name the wrong part.
var errWrong = tool.Errorf(tool.Refused, "the name, the password or the code is wrong").
	Try("try again with the code that the phone shows now")

// Rates of attempts with a password. The rate of a name counts only browsers without an earlier login
// with the name: an attacker who uses it up does not keep out the person.
func rateOfPair() store.Rate   { return store.Rate{Times: 5, Period: time.Hour, Burst: 5} }
func rateOfName() store.Rate   { return store.Rate{Times: 20, Period: time.Hour, Burst: 20} }
func rateOfDevice() store.Rate { return store.Rate{Times: 10, Period: 10 * time.Minute, Burst: 10} }

// admit takes one attempt with a name.
func (u *Users) admit(ctx context.Context, name, address, device string) error {
	var known bool
	if device != "" {
		err := u.DB.Row(ctx, `SELECT EXISTS (SELECT 1 FROM account_device d JOIN account ON account.id = d.account
			WHERE d.hash = $1 AND account.name = $2 AND d.expires > {{now}})`, []any{Digest(device), name}, &known)
		if err != nil {
			return err
		}
	}
	type limit struct {
		key  string
		rate store.Rate
	}
	limits := []limit{{"login " + Digest(name + "\x00" + address)[:32], rateOfPair()}, {"login " + Digest(name)[:32], rateOfName()}}
	if known {
		limits = []limit{{"login " + Digest(device)[:32], rateOfDevice()}}
	}
	for _, l := range limits {
		wait, err := u.DB.Take(ctx, l.key, l.rate)
		if err != nil {
			return err
		}
		if wait > 0 {
			return tool.Errorf(tool.Busy, "there were too many wrong logins").
				Try("wait %s, log in with a passkey, or use a browser in which you have logged in before",
					wait.Round(time.Minute)+time.Minute)
		}
	}
	return nil
}

// Password returns the user with a name, a password and a code. address is the address of the browser,
// device the secret of [Users.Remember] that it has sent.
func (u *Users) Password(ctx context.Context, name, password, code, address, device string) (one User, err error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if len(name) > 64 || len(password) > maxPassword || u.Seal == nil {
		return one, errWrong
	}
	if err := u.admit(ctx, name, address, device); err != nil {
		return one, err
	}
	one, err = u.get(ctx, "name", name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return one, err
	}
	var hashed, sealed string
	if err == nil {
		err = u.DB.Row(ctx, "SELECT password, totp FROM account WHERE id = $1", []any{one.ID}, &hashed, &sealed)
		if err != nil {
			return one, err
		}
	}
	right, err := u.matches(ctx, hashed, password) // also without a user: the time discloses no names
	if err != nil {
		return one, err
	}
	if !right || sealed == "" {
		return one, errWrong
	}
	text, err := u.Seal.Open(ctx, "totp "+one.ID, sealed)
	if err != nil {
		return one, err
	}
	key, err := otp.NewKeyFromURL(string(text))
	if err != nil {
		return one, err
	}
	now, err := u.now(ctx)
	if err != nil {
		return one, err
	}
	step, ok := stepOf(key.Secret(), code, now)
	if !ok {
		return one, errWrong
	}
	return one, u.DB.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("UPDATE account SET totp_step = $2 WHERE id = $1 AND totp_step < $2", one.ID, step)
		if err == nil && n == 0 { // the code was used
			err = errWrong
		}
		if err == nil {
			err = noteLogin(t, one.ID)
		}
		return err
	})
}

// deviceAge is how long a browser is remembered.
const deviceAge = 365 * 24 * time.Hour

// maxDevices is the maximum number of browsers of one user.
const maxDevices = 20

// Remember returns a secret for a browser after a login of a user, for [Users.Password].
func (u *Users) Remember(ctx context.Context, one User) (device string, err error) {
	device = NewSecret()
	return device, u.DB.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("INSERT INTO account_device (hash, account, expires) VALUES ($1, $2, {{now}} + $3)", Digest(device),
			one.ID, deviceAge.Milliseconds())
		if err == nil {
			_, err = t.Exec(`DELETE FROM account_device WHERE account = $1 AND hash NOT IN (SELECT hash FROM account_device
				WHERE account = $1 ORDER BY expires DESC LIMIT $2)`, one.ID, maxDevices)
		}
		return err
	})
}

// The cost of a hash: 19 MiB and two passes, as OWASP recommends for argon2id.
const (
	hashMemory = 19 << 10 // KiB
	hashTime   = 2
	hashLen    = 32
)

// hash returns the hash of a password, with its salt.
func (u *Users) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	sum, err := u.argon(ctx, password, salt)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("argon2id$%d$%d$%s$%s", hashMemory, hashTime, base64.RawStdEncoding.EncodeToString(salt),
		base64.RawStdEncoding.EncodeToString(sum)), nil
}

// argon hashes when there is a slot.
func (u *Users) argon(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case u.hashing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-u.hashing }()
	return argon2.IDKey([]byte(password), salt, hashTime, hashMemory, 1, hashLen), nil
}

// matches reports whether a password has a hash. It takes as long without a hash.
func (u *Users) matches(ctx context.Context, hashed, password string) (bool, error) {
	parts := strings.Split(hashed, "$")
	salt, want := make([]byte, 16), []byte(nil)
	if len(parts) == 5 {
		var err, err2 error
		salt, err = base64.RawStdEncoding.DecodeString(parts[3])
		want, err2 = base64.RawStdEncoding.DecodeString(parts[4])
		if err := errors.Join(err, err2); err != nil {
			return false, err
		}
	}
	got, err := u.argon(ctx, password, salt)
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1, err
}
