package wacz

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	manifestName = "datapackage.json"
	digestName   = "datapackage-digest.json"

	// maxManifest bounds both. Each file in the package takes some 200 octets of the first.
	maxManifest = 32 << 20
)

// bundleManifest is datapackage.json, as far as the audit looks at it.
type bundleManifest struct {
	Profile   string     `json:"profile"`
	Version   string     `json:"wacz_version"`
	Software  string     `json:"software"`
	Created   string     `json:"created"`
	Resources []resource `json:"resources"`
	Curtsy    *struct {
		NoArchive []struct {
			Path    string `json:"path"`
			Records int64  `json:"recordsLeftOut"`
			Whole   string `json:"hashOfTheWhole"`
		} `json:"noarchive"`
	} `json:"curtsy"`
}

// digest is datapackage-digest.json.
type digest struct {
	Path   string `json:"path"`
	Hash   string `json:"hash"`
	Signed *struct {
		Hash       string `json:"hash"`
		Created    string `json:"created"`
		Software   string `json:"software"`
		Signature  string `json:"signature"`
		PublicKey  string `json:"publicKey"`
		Domain     string `json:"domain"`
		DomainCert string `json:"domainCert"`
		TimeSig    string `json:"timeSignature"`
	} `json:"signedData"`
	Ledger    *ledgerSignature `json:"ledgerSignature"`
	Rotations []string         `json:"ledgerRotations"`
}

// ours reports whether the file says that this crawler packed it.
func (m *bundleManifest) ours() bool {
	return m.Curtsy != nil || strings.HasPrefix(m.Software, "curtsy")
}

var errLarge = fmt.Errorf("it is larger than %d MiB", maxManifest>>20)

// bundleSmall reads an entry that must be small.
func bundleSmall(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err == nil && len(b) > maxManifest {
		err = errLarge
	}
	return b, err
}

// parse reads JSON whose first value is all there is.
func parse(b []byte, into any) error {
	err := json.Unmarshal(b, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON from byte %d on: %w", syntax.Offset, err)
	}
	return err
}
