package proof

import (
	"slices"

	"curtsy/storage/ledger/checkpoint"
)

// signatures holds the checkpoint to the keys that are known, and to the one that the log itself names.
func (v *verification) signatures() {
	for _, s := range v.note.Signatures {
		if !slices.ContainsFunc(v.r.Signers, func(o Signer) bool { return o.Name == s.Name }) {
			v.r.Signers = append(v.r.Signers, Signer{Name: s.Name})
		}
	}
	if !v.Key.IsZero() {
		v.signedBy(v.Key)
	}
	v.signedByOwn()
	for _, k := range v.Witnesses {
		at, ok := v.note.Cosigned(k)
		claimed := slices.ContainsFunc(v.note.Signatures, func(s checkpoint.Signature) bool { return s.Name == k.Name() })
		s := v.r.signer(k)
		s.Witness, s.Known, s.Time = true, ok, at
		switch {
		case ok:
		case claimed:
			v.r.found(BadCosignature, "the cosignature of %s under the checkpoint is forged, or of another checkpoint", k.Name())
		default:
			v.r.found(BadCosignature, "%s has not cosigned the checkpoint", k.Name())
		}
	}
}

func (v *verification) signedBy(known checkpoint.Key) {
	for _, k := range v.marks.trusted(known) {
		if v.note.SignedBy(k) {
			s := v.r.signer(k)
			if s.Known = true; k != known {
				s.By = known.Name()
			}
			return
		}
	}
	if _, claimed := v.note.Claimed(known); claimed {
		v.r.found(BadSignature, "the signature of %s under the checkpoint is forged, or of another checkpoint", known.Name())
		return
	}
	v.r.found(BadSignature, "%s has not signed the checkpoint", known.Name())
}

// signedByOwn holds the checkpoint to the key that its log names: whoever else signs it cannot change the log.
func (v *verification) signedByOwn() {
	if v.marks.named == "" {
		return
	}
	k, err := checkpoint.ParseKey(v.marks.named)
	switch {
	case err != nil:
		v.r.found(BadMark, "the key that the log names is invalid: %v", err)
	case !v.note.SignedBy(k) && len(v.r.Counts) == 0:
		v.r.found(BadSignature, "the checkpoint is not signed by %s, the key that its own log names", k.Name())
	}
}
