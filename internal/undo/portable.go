package undo

// Payloads returns the types of the payloads of jobs, by kind.
func (u *Undos) Payloads() map[string]func() any {
	return map[string]func() any{Job: func() any { return new(jobBody) }}
}
