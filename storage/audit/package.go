package audit

// PackageCheck is what a WACZ file is, held against its own manifest and signatures.
type PackageCheck struct {
	File     string   `json:"file"`
	Version  string   `json:"version,omitempty"` // of the format, as the file says
	Software string   `json:"software,omitempty"`
	Created  string   `json:"created,omitempty"`
	Files    int64    `json:"files"`               // in it, but for the manifest and its digest
	Agree    int64    `json:"agree"`               // of these, as large as the manifest says and with its hash
	Octets   int64    `json:"octets"`              // unpacked
	Signed   []string `json:"signed_by,omitempty"` // whose signatures hold: a key's fingerprint, a domain, the ledger's key
	LeftOut  int64    `json:"left_out,omitempty"`  // records that the packer says it left out, for their pages ask not to be archived
	Wrong    int64    `json:"wrong,omitempty"`     // what is not as it should be
	OK       bool     `json:"ok"`                  // nothing is
}
