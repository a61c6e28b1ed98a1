//! Zone files: what they mean, and what they are told when they mean nothing.
