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

// The life of a signature. The drafts recommend at most a day; below some seconds a slightly wrong clock voids it.
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
	fields string  // the line of Signature-Agent
}

// New returns a Signer by a draft, whose signatures are valid for life.
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

// AgentField returns the line of Signature-Agent, with its end.
func (s *Signer) AgentField() string { return s.fields }

// Append implements fetch.Signer.
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

// sign orders the parameters as the drafts' test vectors do.
func (s *Signer) sign(authority string, created int64, nonce string) (input, signature string) {
	params := ";created=" + strconv.FormatInt(created, 10) + `;keyid="` + s.key.id + `";alg="ed25519";expires=` +
		strconv.FormatInt(created+s.life, 10)
	if nonce != "" {
		params += `;nonce="` + nonce + `"`
	}
	return s.key.sign(params+tag, covered{`"@authority"`, authority}, s.agent)
}

// WellKnown is the default path of a key directory.
const WellKnown = "/.well-known/http-message-signatures-directory"

// maxAgent bounds an agent's URL, in bytes: it is sent with each request.
const maxAgent = 256

// Agent is the place where a crawler publishes its keys. Sites know the crawler by this URL, not by its key.
type Agent struct{ directory canon.URL }

// ParseAgent parses the URL of a key directory. An origin means its well-known path.
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

// URL returns the URL of the key directory.
func (a Agent) URL() string { return a.directory.String() }

// authority is that of the key directory (RFC 9421 2.2.3).
func (a Agent) authority() string { return a.directory.Authority().HostPort() }

// value returns the structured string for Signature-Agent. A canonical URL needs no escaping in it.
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

// Key signs requests.
type Key struct {
	private ed25519.PrivateKey
	x, id   string // the public key and its thumbprint, in base64url
}

// NewKey returns the key of a 32-byte seed.
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

// ID returns the key's thumbprint (RFC 7638 3, RFC 8037 A.3).
func (k *Key) ID() string { return k.id }

// covered is a component of a signature: identifier with parameters, and value (RFC 9421 2).
type covered struct{ id, value string }

// sign returns the members of Signature-Input and Signature, without label, for the base of RFC 9421 2.5. Each of params
// begins with a semicolon.
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

// Draft is a version of the specification.
type Draft string

// The drafts, the latest first.
const (
	IETF01         Draft = "ietf-01"         // draft-ietf-webbotauth-httpsig-protocol-01
	IETF00         Draft = "ietf-00"         // the same, -00; draft-meunier-webbotauth-httpsig-protocol-02
	Architecture05 Draft = "architecture-05" // draft-meunier-web-bot-auth-architecture-04 and -05
	Architecture03 Draft = "architecture-03" // the same, -02 and -03
)

// DefaultDraft is the latest of the IETF working group.
const DefaultDraft = IETF01

// rules are the differences between drafts.
type rules struct {
	draft      Draft
	dictionary bool // Signature-Agent is a dictionary keyed by the signature's label; else a string
	whole      bool // its value is the URL of the key directory; else an origin
	nonce      bool // each signature has one (SHOULD)
	digest     bool // the signature of the key directory covers its content
}

var drafts = []rules{
	{IETF01, true, true, false, true},
	{IETF00, true, false, false, true},
	{Architecture05, true, false, true, false},
	{Architecture03, false, false, true, false},
}

// Drafts returns the names of all drafts, the latest first.
func Drafts() (names []string) {
	for _, r := range drafts {
		names = append(names, string(r.draft))
	}
	return names
}

// ParseDraft parses the name of a draft.
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

// The life of a key directory's signature. Lists of key directories drop a copy when it is over.
const (
	DefaultDirectoryLife = 90 * 24 * time.Hour
	LeastDirectoryLife   = time.Hour
	MostDirectoryLife    = 366 * 24 * time.Hour
)

// directoryMaxAge is how long a verifier may cache the directory, in seconds, and so trust a key removed from it.
const directoryMaxAge = "86400"

// Mark is the beginning of a key directory that Publish made.
const Mark = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"`

// Publication is a key directory and how to serve it.
type Publication struct {
	URL, Path string
	Body      []byte // exact bytes: without a line end, without a content coding
	Fields    []Field
}

// Field is a header field of the response.
type Field struct{ Name, Value string }

// Publish returns the key directory of an agent with a proof that the publisher holds the key: a signature over the
// directory's authority (draft-ietf-webbotauth-httpsig-protocol-01, Possession Proof on the Directory Response), valid
// for life from at on.
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
	body := []byte(Mark + k.id + `","x":"` + k.x + `","use":"sig"}]}`) // RFC 7517 5, RFC 8037 2
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
