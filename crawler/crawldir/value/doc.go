// Package value reads and writes settings the way people write them: 2h30m, 100MiB, breadth. Command lines, environments
// and files of settings share it, and its errors say how to write what was not understood.
//
// Each type has String, Set and Type, as flag packages want them, and converts from a pointer to what a program uses:
// (*value.Duration)(&delay). Whatever String writes, Set reads.
package value
