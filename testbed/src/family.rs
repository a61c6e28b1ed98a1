//! A program and everything that it forked: NSD, for one, answers in a grandchild.
//!
//! What is absent: children whose parent ended, which the kernel gives to another.

use std::fs;

/// `root` and its descendants.
pub(crate) fn family(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = processes().filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// proc_pid_status(5); absent once it has ended.
fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::family;
    use std::process::{Command, Stdio};

    #[test]
    fn a_grandchild_belongs() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'echo $$; read line; true'; true"]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let output = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut said).unwrap();
        let found = family(shell.id());
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(found, [shell.id(), said.trim().parse().unwrap()]);
    }
}
