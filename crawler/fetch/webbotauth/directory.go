package webbotauth

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"curtsy/storage/plainly"
)

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
