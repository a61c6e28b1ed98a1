//! Giving up what set-up needed and serving does not.
//!
//! ```text
//!   set-up (root) --drop--> no capability but reading files    (where the kernel can:)
//!                           no new privileges                  Landlock: below the root only reading,
//!                           another user, if one is named      writing beside the log and the stats socket
//!                           no exec, mount, ptrace, bpf load   seccomp
//! ```
//! All of these belong to a thread and are inherited: this runs before the threads are made.
//!
//! Not a container: sockets that are open stay open, which is what serving needs.

use crate::exit::wrong_input;
use anyhow::{Context, Result, anyhow};
use caps::{CapSet, Capability, CapsHashSet};
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};
use nix::unistd::{User, initgroups, setresgid, setresuid};
use seccompiler::BpfMap;
use std::ffi::CString;
use std::path::PathBuf;

/// The system calls that serving never makes and an intruder would.
const REFUSED_CALLS: &[u8] = include_bytes!("refused_calls.json");
/// The name of the filter in that file.
const FILTER: &str = "tidegate";
/// The newest Landlock that this knows of; an older kernel enforces what it has.
const LANDLOCK: ABI = ABI::V5;

/// What serving needs of the file system, and as whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// Directories and files that are read.
    pub(crate) readable: Vec<PathBuf>,
    /// Directories in which files are made, written and removed.
    pub(crate) writable: Vec<PathBuf>,
    /// The user to become.
    pub(crate) user: Option<String>,
}

/// Drops what is not needed; returns what is in force, in words.
pub(crate) fn drop_to(needs: &Needs) -> Result<String> {
    let user = needs.user.as_deref().map(find_user).transpose()?;
    let ruleset = ruleset(needs)?;
    let as_user = match &user {
        Some(user) => become_user(user)?,
        None => "capabilities: only CAP_DAC_READ_SEARCH".into(),
    };
    drop_capabilities(user.is_none())?;
    let landlock =
        ruleset.restrict_self().context("could not restrict the file system (--no-sandbox goes without)")?;
    let files = match landlock.ruleset {
        RulesetStatus::NotEnforced => "file system: not restricted (this kernel has no Landlock)",
        _ => "file system: Landlock",
    };
    refuse_calls()?;
    Ok(format!("{as_user}; {files}; seccomp; no new privileges"))
}

fn find_user(name: &str) -> Result<User> {
    let found = User::from_name(name).with_context(|| format!("could not look up the user {name}"))?;
    found.ok_or_else(|| wrong_input(format!("--user {name}: there is no such user: see getent passwd")))
}

/// The rules, with their paths opened while that is still allowed.
fn ruleset(needs: &Needs) -> Result<RulesetCreated> {
    let all = AccessFs::from_all(LANDLOCK);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(Ruleset::create)
        .context("could not set Landlock up (--no-sandbox goes without)")?;
    let readable = AccessFs::ReadFile | AccessFs::ReadDir;
    let writable =
        readable | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Truncate;
    let paths = needs.readable.iter().map(|path| (path, readable));
    for (path, access) in paths.chain(needs.writable.iter().map(|path| (path, writable))) {
        let fd = PathFd::new(path).with_context(|| format!("could not open {}", path.display()))?;
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(LANDLOCK) };
        rules = rules.add_rule(PathBeneath::new(fd, access)).context("could not set Landlock up")?;
    }
    Ok(rules)
}

fn become_user(user: &User) -> Result<String> {
    let failed = || format!("could not become the user {}: start as root", user.name);
    let name = CString::new(user.name.as_str())?;
    initgroups(&name, user.gid).with_context(failed)?;
    setresgid(user.gid, user.gid, user.gid).with_context(failed)?;
    setresuid(user.uid, user.uid, user.uid).with_context(failed)?;
    Ok(format!("user {}, no capabilities", user.name))
}

/// Keeps, of a superuser's, the right to read what it serves, whoever owns it.
fn drop_capabilities(keep_reading: bool) -> Result<()> {
    let keep: CapsHashSet = keep_reading.then_some(Capability::CAP_DAC_READ_SEARCH).into_iter().collect();
    let failed = |error| anyhow!("could not drop capabilities: {error}");
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(failed)? {
        for capability in caps::read(None, CapSet::Bounding).map_err(failed)? {
            caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
        }
    }
    let held = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let keep: CapsHashSet = keep.intersection(&held).copied().collect();
    caps::clear(None, CapSet::Ambient).map_err(failed)?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &keep).map_err(failed)?;
    }
    caps::clear(None, CapSet::Inheritable).map_err(failed)
}

/// Takes the last capability, for a thread that reads no files.
pub(crate) fn drop_all_capabilities() -> Result<()> {
    let failed = |error| anyhow!("could not drop capabilities: {error}");
    [CapSet::Effective, CapSet::Permitted]
        .into_iter()
        .try_for_each(|set| caps::clear(None, set))
        .map_err(failed)
}

/// seccomp(2); sets no_new_privs too.
fn refuse_calls() -> Result<()> {
    let architecture = std::env::consts::ARCH.try_into().context("no seccomp on this processor")?;
    let filters: BpfMap = seccompiler::compile_from_json(REFUSED_CALLS, architecture)
        .context("the embedded list of refused system calls is wrong")?;
    let filter = filters.get(FILTER).context("the embedded list of refused system calls is empty")?;
    seccompiler::apply_filter(filter).context("could not refuse system calls (--no-sandbox goes without)")
}
