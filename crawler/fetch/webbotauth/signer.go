package webbotauth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage/plainly"
)

// The life of a signature. A day is what the drafts recommend at most; below some seconds a clock that is a little off
// makes every signature void.
const (
	DefaultLife = 5 * time.Minute
	LeastLife   = 10 * time.Second
	MostLife    = 24 * time.Hour
)

const (
	label     = "sig1"
	tag       = `;tag="web-bot-auth"`
	nonceSize = 64 // bytes, as the drafts that ask for a nonce recommend
)

// Signer signs requests.
type Signer struct {
	key    *Key
	rules  rules
	life   int64   // seconds
	agent  covered // the component of Signature-Agent
	fields string  // the line of Signature-Agent, which all requests carry alike
}

// New returns a Signer by a draft, whose signatures count for life.
func New(k *Key, a Agent, d Draft, life time.Duration) (*Signer, error) {
	r, err := d.rules()
	if err != nil {
		return nil, err
	}
	if life < LeastLife || life > MostLife {
		return nil, fmt.Errorf("signatures that count for %s: %s is the least and %s the most", plainly.Duration(life),
			plainly.Duration(LeastLife), plainly.Duration(MostLife))
	}
	value, err := a.value(r)
	if err != nil {
		return nil, err
	}
	s := &Signer{key: k, rules: r, life: int64(life / time.Second), agent: covered{`"signature-agent"`, value}}
	if r.dictionary {
		s.agent.id += `;key="` + label + `"`
		value = label + "=" + value
	}
	s.fields = "Signature-Agent: " + value + "\r\n"
	return s, nil
}

// AgentField is the line of Signature-Agent, with its end, as each request carries it.
func (s *Signer) AgentField() string { return s.fields }

// Append appends the lines that sign a request to an authority, as the field Host has it, that is sent at an instant.
func (s *Signer) Append(head []byte, authority string, at time.Time) []byte {
	nonce := ""
	if s.rules.nonce {
		var b [nonceSize]byte
		rand.Read(b[:])
		nonce = base64.RawURLEncoding.EncodeToString(b[:])
	}
	input, signature := s.sign(authority, at.Unix(), nonce)
	head = append(head, s.fields...)
	head = append(head, "Signature-Input: "+label+"="...)
	head = append(head, input...)
	head = append(head, "\r\nSignature: "+label+"="...)
	head = append(head, signature...)
	return append(head, "\r\n"...)
}

// sign has the parameters in the order of the drafts' test vectors.
func (s *Signer) sign(authority string, created int64, nonce string) (input, signature string) {
	params := ";created=" + strconv.FormatInt(created, 10) + `;keyid="` + s.key.id + `";alg="ed25519";expires=` +
		strconv.FormatInt(created+s.life, 10)
	if nonce != "" {
		params += `;nonce="` + nonce + `"`
	}
	return s.key.sign(params+tag, covered{`"@authority"`, authority}, s.agent)
}

// WellKnown is where a key directory is published, unless an Agent says otherwise.
const WellKnown = "/.well-known/http-message-signatures-directory"

// maxAgent is the longest URL of an agent, in bytes: it goes with each request.
const maxAgent = 256

// Agent is where a crawler publishes its keys. The URL, not the key, is what sites know the crawler by.
type Agent struct{ directory canon.URL }

// ParseAgent reads the URL of a key directory. An origin stands for the directory at its well-known path.
func ParseAgent(text string) (Agent, error) {
	u, err := canon.Parse(text)
	if err != nil {
		return Agent{}, fmt.Errorf("signature agent %q: %w", text, err)
	}
	origin := "https://" + u.Authority().HostPort()
	path, ok := strings.CutPrefix(u.String(), origin)
	switch {
	case !ok:
		return Agent{}, fmt.Errorf("signature agent %q: keys are published over https", text)
	case len(u.String()) > maxAgent:
		return Agent{}, fmt.Errorf("signature agent: over %d bytes, and it goes with each request", maxAgent)
	case strings.ContainsAny(text, "?#@"):
		return Agent{}, fmt.Errorf("signature agent %q: write it without user, query and fragment", text)
	case path == "/":
		u, err = canon.Parse(origin + WellKnown)
	}
	return Agent{u}, err
}

// URL is that of the key directory.
func (a Agent) URL() string { return a.directory.String() }

// authority is whom the key directory is asked of (RFC 9421 2.2.3).
func (a Agent) authority() string { return a.directory.Authority().HostPort() }

// value is what the field Signature-Agent says, a structured string: a URL has no octet that must be escaped in it.
func (a Agent) value(r rules) (string, error) {
	if r.whole {
		return `"` + a.URL() + `"`, nil
	}
	origin := "https://" + a.authority()
	if a.URL() != origin+WellKnown {
		return "", fmt.Errorf("signature agent %s: by draft %s keys are published at %s%s, nowhere else", a.URL(), r.draft,
			origin, WellKnown)
	}
	return `"` + origin + `"`, nil
}

// Key is the key that requests are signed with.
type Key struct {
	private ed25519.PrivateKey
	x, id   string // the public key and its thumbprint, in base64url
}

// NewKey returns the key of a seed of 32 bytes.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("webbotauth: a key has %d bytes, not %d", ed25519.SeedSize, len(seed))
	}
	k := &Key{private: ed25519.NewKeyFromSeed(seed)}
	k.x = base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + k.x + `"}`))
	k.id = base64.RawURLEncoding.EncodeToString(sum[:])
	return k, nil
}

// ID is the thumbprint by which requests name the key (RFC 7638 3, RFC 8037 A.3).
func (k *Key) ID() string { return k.id }

// covered is a component that a signature covers: its identifier, with parameters, and its value (RFC 9421 2).
type covered struct{ id, value string }

// sign returns the members of Signature-Input and Signature that cover components, without their label. params are the
// parameters of the signature, each with a semicolon before it. The signature is over the base of RFC 9421 2.5.
func (k *Key) sign(params string, components ...covered) (input, signature string) {
	var base, ids []byte
	for i, c := range components {
		base = append(base, c.id+": "+c.value+"\n"...)
		if i > 0 {
			ids = append(ids, ' ')
		}
		ids = append(ids, c.id...)
	}
	input = "(" + string(ids) + ")" + params
	base = append(base, `"@signature-params": `+input...)
	return input, ":" + base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, base)) + ":"
}

// Draft is a state of the specification, by which requests are signed.
type Draft string

// The drafts, the latest first.
const (
	IETF01         Draft = "ietf-01"         // draft-ietf-webbotauth-httpsig-protocol-01
	IETF00         Draft = "ietf-00"         // the same, -00; draft-meunier-webbotauth-httpsig-protocol-02
	Architecture05 Draft = "architecture-05" // draft-meunier-web-bot-auth-architecture-04 and -05
	Architecture03 Draft = "architecture-03" // the same, -02 and -03
)

// DefaultDraft is the latest that a working group has published.
const DefaultDraft = IETF01

// rules are what differs from draft to draft.
type rules struct {
	draft      Draft
	dictionary bool // Signature-Agent is a dictionary, whose key is the label of the signature; else a string
	whole      bool // its value is the URL of the key directory; else an origin, at which the well-known path is asked
	nonce      bool // each signature has one (SHOULD)
	digest     bool // the signature of the key directory covers its content
}

var drafts = []rules{
	{IETF01, true, true, false, true},
	{IETF00, true, false, false, true},
	{Architecture05, true, false, true, false},
	{Architecture03, false, false, true, false},
}

// Drafts are the names of all drafts, the latest first.
func Drafts() (names []string) {
	for _, r := range drafts {
		names = append(names, string(r.draft))
	}
	return names
}

// ParseDraft returns the draft of a name.
func ParseDraft(name string) (Draft, error) {
	r, err := Draft(name).rules()
	return r.draft, err
}

func (d Draft) rules() (rules, error) {
	for _, r := range drafts {
		if r.draft == d {
			return r, nil
		}
	}
	return rules{}, fmt.Errorf("%q is not a known draft of Web Bot Auth; known are %s", string(d),
		strings.Join(Drafts(), ", "))
}

// MediaType is that of a key directory.
const MediaType = "application/http-message-signatures-directory+json"

// The life of a key directory's own signature. A list that holds copies of it drops them when it is over.
const (
	DefaultDirectoryLife = 90 * 24 * time.Hour
	LeastDirectoryLife   = time.Hour
	MostDirectoryLife    = 366 * 24 * time.Hour
)

// directoryMaxAge is how long a verifier may keep the directory, in seconds: a key that is removed from it is believed
// for that long.
const directoryMaxAge = "86400"

// Mark is how key directories of our making begin.
const Mark = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"`

// Publication is a key directory, and how it is to be served.
type Publication struct {
	URL, Path string
	Body      []byte // these octets and no others: without a line's end, without a coding
	Fields    []Field
}

// Field is a header field of an answer.
type Field struct{ Name, Value string }

// Publish returns the key directory of an agent, with the proof that who publishes it holds the key: a signature over
// the authority that it is asked of (draft-ietf-webbotauth-httpsig-protocol-01, Possession Proof on the Directory
// Response). It counts for life from an instant on.
func Publish(k *Key, a Agent, d Draft, at time.Time, life time.Duration) (Publication, error) {
	r, err := d.rules()
	if err != nil {
		return Publication{}, err
	}
	if _, err := a.value(r); err != nil {
		return Publication{}, err
	}
	if life < LeastDirectoryLife || life > MostDirectoryLife {
		return Publication{}, fmt.Errorf("a key directory that counts for %s: %s is the least and %s the most",
			plainly.Duration(life), plainly.Duration(LeastDirectoryLife), plainly.Duration(MostDirectoryLife))
	}
	body := k.directory()
	p := Publication{URL: a.URL(), Path: a.directory.RequestURI(), Body: body, Fields: []Field{
		{"Content-Type", MediaType}, {"Cache-Control", "max-age=" + directoryMaxAge},
	}}
	components := []covered{{`"@authority";req`, a.authority()}}
	if r.digest {
		sum := sha256.Sum256(body)
		digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		p.Fields = append(p.Fields, Field{"Content-Digest", digest})
		components = append(components, covered{`"content-digest"`, digest})
	}
	created := at.Unix()
	input, signature := k.sign(";created="+strconv.FormatInt(created, 10)+
		";expires="+strconv.FormatInt(created+int64(life/time.Second), 10)+
		`;keyid="`+k.id+`";tag="http-message-signatures-directory"`, components...)
	p.Fields = append(p.Fields, Field{"Signature-Input", "binding=" + input}, Field{"Signature", "binding=" + signature})
	return p, nil
}

// directory is the JWK Set of the key (RFC 7517 5, RFC 8037 2).
func (k *Key) directory() []byte {
	return []byte(Mark + k.id + `","x":"` + k.x + `","use":"sig"}]}`)
}
